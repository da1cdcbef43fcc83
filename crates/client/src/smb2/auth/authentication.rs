//! Which mechanism the users of a run log on with.

#[cfg(feature = "kerberos")]
use std::sync::Arc;

use aws_lc_rs::rand::fill;
use rand::SeedableRng as _;
use rand::rngs::StdRng;

#[cfg(feature = "kerberos")]
use super::kerberos::{Kerberos, ServiceTicket};
use super::{Auth, Credentials, Ntlm, Randomness};
#[cfg(feature = "kerberos")]
use crate::kerberos::Purpose;
use crate::kerberos::{Realm, TicketError};

/// The authentication method of users.
#[derive(Clone, Debug, Default)]
pub enum Authentication {
    /// NTLM, with the credentials.
    #[default]
    Ntlm,
    /// Kerberos, with a ticket that was got before: all of a run's logons share it, and none asks the KDC.
    #[cfg(feature = "kerberos")]
    Kerberos(Arc<ServiceTicket>),
}

impl Authentication {
    /// Whether this build has Kerberos.
    pub const HAS_KERBEROS: bool = cfg!(feature = "kerberos");

    /// Kerberos, with a ticket of an account for `service` (`cifs/server`) from the realm's KDC. Blocks for as long as that
    /// takes: three questions of some seconds at most.
    ///
    /// # Errors
    /// There is none, and why.
    #[cfg_attr(not(feature = "kerberos"), expect(unused_variables, reason = "nobody is asked"))]
    pub fn kerberos(credentials: &Credentials, realm: &Realm, service: &str) -> Result<Self, TicketError> {
        #[cfg(feature = "kerberos")]
        return Ok(Self::Kerberos(Arc::new(ServiceTicket::request(credentials, realm, service, Purpose::Smb)?)));
        #[cfg(not(feature = "kerberos"))]
        Err(TicketError::NotBuilt)
    }

    /// Its name.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Ntlm => "NTLM",
            #[cfg(feature = "kerberos")]
            Self::Kerberos(_) => "Kerberos",
        }
    }

    /// Begins a logon at `now`, ns since the Unix epoch, to `service` (`cifs/server`). `None` where the system has no
    /// random numbers.
    #[must_use]
    pub fn begin(&self, credentials: &Credentials, service: &str, now: i64) -> Option<Box<dyn Auth>> {
        let mut seed = [0; 32];
        fill(&mut seed).ok()?;
        let mut generator = StdRng::from_seed(seed);
        Some(match self {
            Self::Ntlm => {
                let auth = Ntlm::new(credentials.clone(), Randomness::draw(&mut generator), now);
                Box::new(auth.target(service))
            }
            #[cfg(feature = "kerberos")]
            Self::Kerberos(ticket) => Box::new(Kerberos::new(Arc::clone(ticket), &mut generator, now)),
        })
    }
}
