//! Several targets at one address.

use plimsoll_client::target::Target;
use plimsoll_client::tls::Trust;
use plimsoll_drive::connect::ConnectOptions;
use plimsoll_drive::engine::{Plan, Watch};
use plimsoll_model::Names;
use plimsoll_results::Usage;
use plimsoll_serve::{Embedded, Kind, Options};
use plimsoll_testkit::servers::rpc_tls::{Manner, RpcTls};
use plimsoll_workload::{Load, Pause, Workload};

use super::searches::Unseen;
use crate::level_spec::LevelSpec;
use crate::resolved_target::ResolvedTarget;
use crate::runner::Runner;

/// Connections take their TLS from the address: otherwise the plain target would be measured over TLS.
#[test]
fn targets_at_one_address_have_the_same_tls() {
    let server = Embedded::start(Kind::Nfs, Options::default()).unwrap();
    let front = RpcTls::start(server.address(), Manner::Serves).unwrap();
    let (port, mount) = (front.address().port(), server.address().port());
    let target = |options: &str| {
        let url = format!("nfs://127.0.0.1:{port}/plimsoll?version=3&mountport={mount}{options}");
        ResolvedTarget::start(Target::parse(&url).unwrap()).unwrap()
    };
    let workload = Workload::find("null").unwrap();
    let plan = Plan::new(Load::Closed { clients: 2, think: Pause::None });
    let monitor = Unseen(Watch::new());
    let runner = Runner::new(&workload, &monitor, plan.timeout_ns);
    let level_spec = LevelSpec { plan, load_name: String::new(), curve: None, parameter: None, share: None };
    let reach = |one: &str, other: &str| {
        let resolved = target(one).with_others(vec![target(other)]).unwrap();
        let connect_options = ConnectOptions { trust: Trust::Anyone, ..ConnectOptions::default() };
        let level_specs = std::slice::from_ref(&level_spec);
        runner.reach(&resolved, &connect_options, level_specs, &mut Names::default()).map(|_| ())
    };
    let tls = "&xprtsec=tls";
    for (one, other) in [(tls, ""), ("", tls)] {
        let error = reach(one, other).unwrap_err();
        let usage = error.downcast_ref::<Usage>().map(ToString::to_string).unwrap_or_default();
        assert!(usage.contains("the same address") && usage.contains("xprtsec=tls"), "{error:#}");
    }
    reach(tls, tls).unwrap();
    reach("", "").unwrap();
}
