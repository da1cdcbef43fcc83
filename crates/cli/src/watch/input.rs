//! The input of a watch: an interface, a pipe or files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use plimsoll_observe::capture::interface::{
    Interface, InterfaceCounts, InterfaceOptions, MAX_PORTS, SaveOptions, exists,
};
use plimsoll_observe::capture::{Captures, Input, StopReading};

use super::arguments::{CaptureFlags, only_for_interfaces};
use crate::exit::Usage;

/// An input that can be read.
pub(super) enum Opened {
    Interface(Box<Interface>),
    /// A pipe or files, which are opened later.
    Captures,
}

impl Opened {
    /// Opens an interface.
    pub(super) fn new(sources: &[PathBuf], flags: &CaptureFlags) -> anyhow::Result<Self> {
        let interface = sources.iter().find_map(|source| interface_name(source, flags.netns.is_some()));
        let Some(name) = interface else {
            only_for_interfaces(flags)?;
            return Ok(Self::Captures);
        };
        if name == "any" && !exists(name) {
            let why = "any: plimsoll watch captures one network interface at a time; name one of the output of `ip link`, or pipe \
                `tcpdump -i any -U -w -` to `plimsoll watch -`";
            return Err(Usage(why.to_owned()).into());
        }
        if sources.len() > 1 {
            let why = format!("{name}: a network interface must be the only input; remove the other inputs");
            return Err(Usage(why).into());
        }
        if flags.port.len() > MAX_PORTS - 4 {
            return Err(Usage(format!("--port: expected at most {} ports", MAX_PORTS - 4)).into());
        }
        let save = flags.save.as_ref().map(|folder| SaveOptions {
            folder: folder.clone(),
            bytes: flags.save_size,
            kept_ns: flags.save_time.map(|time| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)),
        });
        let buffer_bytes = usize::try_from(flags.buffer).unwrap_or(usize::MAX);
        let (name, namespace) = (name.to_owned(), flags.netns.clone());
        let (ports, filter, snap_length) = (flags.port.clone(), flags.filter.clone(), flags.snap_length);
        let options = InterfaceOptions { name, namespace, ports, filter, snap_length, buffer_bytes, save };
        Ok(Self::Interface(Box::new(Interface::open(options)?)))
    }

    /// The interface, if the input is one.
    pub(super) fn interface(&self) -> Option<&Interface> {
        match self {
            Self::Interface(interface) => Some(interface),
            Self::Captures => None,
        }
    }

    /// Counters of the packets that the interface loses.
    pub(super) fn counts(&self) -> Option<Arc<InterfaceCounts>> {
        self.interface().map(Interface::counts)
    }

    /// The packets of this input.
    pub(super) fn captures(self, sources: &[PathBuf], stop: &StopReading) -> anyhow::Result<Captures> {
        Ok(match self {
            Self::Interface(interface) => Captures::of_interface(*interface, stop.clone())?,
            Self::Captures => Captures::open_until(Input::all_of(sources)?, stop.clone())?,
        })
    }
}

/// The name of an interface, if `source` names an existing interface, or neither an interface nor a file exists with this name. With
/// `--netns`, each name is one of an interface.
fn interface_name(source: &Path, in_namespace: bool) -> Option<&str> {
    let name = source.to_str().filter(|name| !name.contains('/') && *name != "-")?;
    (in_namespace || exists(name) || !source.exists()).then_some(name)
}
