//! `plimsoll anonymize`: a capture to give away, without names, addresses and file data.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use plimsoll_observe::anonymize::{AnonymizeError, Counts, FirstPass, Key, OutputError, Stated};
use plimsoll_observe::capture::{Captures, Input};

use crate::exit::{Done, Usage, unless_closed};
use crate::shell;
use plimsoll_console::output_file::{Files, Readers};
use plimsoll_console::progress::Bar;

const EXAMPLES: &str = "Examples:
  plimsoll anonymize trace.pcapng to-send.pcapng
  head -c 32 /dev/urandom > key
  plimsoll anonymize monday.pcapng monday-sent.pcapng --key key
  plimsoll anonymize tuesday.pcapng tuesday-sent.pcapng --key key";

/// Writes a copy of a capture without names, addresses and file data, from which `plimsoll analyze` gets the same
/// numbers. Replaced names have the same depth and length, and keep the extensions of well-known file types. Addresses of
/// the same network stay in the same network. Payload, and everything that is not SMB or NFS, is zero. Reads the same formats
/// as analyze; writes pcap if the input is pcap, and otherwise pcapng.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Capture file; Plimsoll reads it twice, so it cannot be a pipe
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// Capture file to write
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// Derive the replacements of names and addresses from the secret in FILE (at least 16 bytes). With the same secret, a name
    /// gets the same replacement in every capture [default: a random secret, which is not stored]
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Print neither progress nor a summary
    #[arg(long, short)]
    quiet: bool,
}

/// Runs the subcommand.
pub(crate) fn run(arguments: Arguments) -> anyhow::Result<Done> {
    let Arguments { input, output, key, quiet } = arguments;
    if !input.is_file() && (input == Path::new("-") || input.exists()) {
        let why =
            format!("{}: anonymize reads the capture twice, so the input must be a regular file", input.display());
        return Err(Usage(why).into());
    }
    if output == Path::new("-") {
        let why = "-: anonymize writes the copy to a file; give OUT the name of a file, such as copy.pcapng";
        return Err(Usage(why.to_owned()).into());
    }
    let mut files = Files::reading([Some(input.as_path()), key.as_deref()].into_iter().flatten());
    let opened = files.open("OUT", &output, Readers::Usual)?;
    let key = key.as_deref().map_or_else(|| Key::drawn().map_err(anyhow::Error::from), read_key)?;
    let mut file = BufWriter::with_capacity(1 << 20, opened.file()?);
    let counts = match copy(&input, key, quiet, &mut file) {
        Ok(counts) => counts,
        Err(error) if is_about_writing(&error) => return Err(opened.failed(error)),
        Err(error) => return Err(error),
    };
    file.flush().map_err(|error| opened.failed(error))?;
    drop(file);
    opened.finish()?;
    if !quiet {
        unless_closed(io::stdout().lock().write_all(summary(&counts, &output).as_bytes()).map_err(Into::into))?;
    }
    Ok(Done::Normally)
}

/// Whether the copy could not be written, or otherwise the input not be read or not be copied.
fn is_about_writing(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(AnonymizeError::Output(OutputError::Io(_))))
}

fn read_key(path: &Path) -> anyhow::Result<Key> {
    let secret = std::fs::read(path).with_context(|| format!("--key {}: cannot read", path.display()))?;
    Key::of(&secret).map_err(|error| Usage(format!("--key {}: {error}", path.display())).into())
}

/// Both passes.
fn copy(input: &Path, key: Key, quiet: bool, file: &mut impl Write) -> anyhow::Result<Counts> {
    let mut first = FirstPass::new(key);
    let captures = each_frame(input, quiet, |frame| {
        first.frame(frame);
        Ok(())
    })?;
    let is_cut = captures.anomalies().truncated_tail + captures.anomalies().bad_records > 0;
    let format = captures.formats().first().map(|format| (format.format, format.tick_ns));
    let (format, tick_ns) = (format.map(|(format, _)| format), format.and_then(|(_, tick_ns)| tick_ns));
    let mut second = first.finish(format, tick_ns, Stated::of(&captures)?)?;
    each_frame(input, quiet, |frame| Ok(second.frame(frame, file)?))?;
    let counts = second.finish(file, is_cut)?;
    let name = input.display();
    anyhow::ensure!(counts.packets > 0, "{name}: {}", captures.anomalies().no_packets());
    if is_cut {
        shell::note(&format!(
            "plimsoll: {name}: damaged after packet {}; the copy lacks the rest, and ends in the middle of a record too, so that \
            reports on it are PARTIAL",
            counts.packets
        ));
    }
    Ok(counts)
}

fn each_frame(
    input: &Path,
    quiet: bool,
    mut act: impl FnMut(&plimsoll_observe::capture::Frame<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<Captures> {
    let mut captures = Captures::open(vec![Input::File(input.to_owned())])?;
    let mut bar = Bar::new(quiet);
    while let Some(frame) = captures.next()? {
        act(&frame)?;
        bar.frame(|| {
            let progress = captures.progress();
            (progress.bytes_read, progress.bytes_total)
        });
    }
    bar.finish();
    Ok(captures)
}

fn summary(counts: &Counts, output: &Path) -> String {
    let Counts { packets, messages, not_understood, not_ip } = *counts;
    let mut text = format!(
        "{}: {packets} packets. Messages of SMB 2 and 3: {}; of SMB1: {}; of RPC (NFS): {}\n",
        output.display(),
        messages.smb2,
        messages.smb1,
        messages.rpc,
    );
    if not_understood > 0 {
        text += &format!(
            "TCP and UDP packets without readable SMB or NFS: {not_understood} (in the copy, their payload is all zeros)\n"
        );
    }
    if not_ip > 0 {
        text += &format!(
            "packets that are neither TCP nor UDP: {not_ip} (in the copy, all bytes after the link-layer or IP header are zero)\n"
        );
    }
    text
}
