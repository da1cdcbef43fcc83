//! The container image: an OCI archive with one layer, for `podman load`, `skopeo copy oci-archive:…` and `docker load`.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::content::Content;
use super::{about, files, trial};
use crate::Outcome;

const INDEX: &str = "application/vnd.oci.image.index.v1+json";
const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = "application/vnd.oci.image.config.v1+json";
const LAYER: &str = "application/vnd.oci.image.layer.v1.tar+gzip";

/// Writes layer, configuration, manifest and index, each named by its checksum.
pub(super) fn write(content: &Content, folder: &Path) -> Result<PathBuf, String> {
    let (root, image) = (content.scratch.join("image/root"), content.scratch.join("image/oci"));
    let epoch = &content.release.epoch;
    files::empty(&root)?;
    files::empty(&image)?;
    files::copy(&content.program, &root.join("usr/bin/plimsoll"))?;
    // Nothing in the image could show a document.
    content.copy_notices(&root.join("usr/share/doc/plimsoll"))?;
    // Where captures are mounted and reports are written.
    files::make(&root.join("data"))?;
    files::settle(&root, epoch)?;
    let layers = ["layer.tar", "layer.tar.gz"].map(|name| content.scratch.join("image").join(name));
    layers.iter().try_for_each(|file| files::tar(&root, &["data", "usr"], file, epoch, true))?;
    let unpacked = format!("sha256:{}", files::sha256(&layers[0])?);
    let created = crate::process::output(std::process::Command::new("date").args([
        "--utc",
        "+%FT%TZ",
        "--date",
        &format!("@{epoch}"),
    ]))?;
    let config = json!({
        "created": created.trim(),
        "architecture": content.platform.architecture,
        "os": "linux",
        "config": {
            "Entrypoint": ["/usr/bin/plimsoll"],
            "WorkingDir": "/data",
            "Labels": {
                "org.opencontainers.image.title": "plimsoll",
                "org.opencontainers.image.description": about::SUMMARY,
                "org.opencontainers.image.licenses": "MIT OR Apache-2.0",
                "org.opencontainers.image.version": content.release.version,
                "org.opencontainers.image.revision": content.release.commit,
            },
        },
        "rootfs": { "type": "layers", "diff_ids": [unpacked] },
        "history": [{ "created": created.trim(), "created_by": "cargo xtask package" }],
    });
    let config = blob(&image, &config.to_string(), CONFIG)?;
    let layer = add(&image, &layers[1], LAYER)?;
    let manifest = json!({ "schemaVersion": 2, "mediaType": MANIFEST, "config": config, "layers": [layer] });
    let mut manifest = blob(&image, &manifest.to_string(), MANIFEST)?;
    manifest["annotations"] = json!({ "org.opencontainers.image.ref.name": content.release.version });
    let index = json!({ "schemaVersion": 2, "mediaType": INDEX, "manifests": [manifest] });
    files::write(&image.join("index.json"), &index.to_string())?;
    files::write(&image.join("oci-layout"), "{\"imageLayoutVersion\":\"1.0.0\"}")?;
    let file = folder.join(format!("{}.oci.tar", content.full_name()));
    files::tar(&image, &["blobs", "index.json", "oci-layout"], &file, epoch, true)?;
    Ok(file)
}

/// Writes a text as a blob; its descriptor.
fn blob(image: &Path, text: &str, kind: &str) -> Result<Value, String> {
    let file = image.with_extension("blob");
    files::write(&file, text)?;
    add(image, &file, kind)
}

/// Copies a file to the blobs; its descriptor.
fn add(image: &Path, file: &Path, kind: &str) -> Result<Value, String> {
    let digest = files::sha256(file)?;
    files::copy(file, &image.join("blobs/sha256").join(&digest))?;
    let size = fs::metadata(file).map_err(|error| format!("{}: {error}", file.display()))?.len();
    Ok(json!({ "mediaType": kind, "digest": format!("sha256:{digest}"), "size": size }))
}

/// Follows the index to the layer like a container engine, and runs the configured command.
pub(super) fn try_it(content: &Content, file: &Path) -> Outcome {
    let folder = content.scratch.join("trial/image");
    files::empty(&folder)?;
    files::untar(file, &folder.join("oci"))?;
    let index = json_of(&folder.join("oci/index.json"))?;
    let manifest = json_of(&found(&folder, &index["manifests"][0])?)?;
    let config = json_of(&found(&folder, &manifest["config"])?)?;
    let root = folder.join("root");
    files::untar(&found(&folder, &manifest["layers"][0])?, &root)?;
    let program = config["config"]["Entrypoint"][0].as_str().ok_or("the image has no entry point")?;
    trial::same_program(&content.program, &root.join(program.trim_start_matches('/')))?;
    trial::reports_in_an_empty_root(content, &root, program)
}

/// The blob of a descriptor, after a check of its checksum.
fn found(folder: &Path, descriptor: &Value) -> Result<PathBuf, String> {
    let digest = descriptor["digest"].as_str().and_then(|digest| digest.strip_prefix("sha256:"));
    let digest = digest.ok_or_else(|| format!("no SHA-256: {descriptor}"))?;
    let file = folder.join("oci/blobs/sha256").join(digest);
    if files::sha256(&file)? == digest { Ok(file) } else { Err(format!("{}: another checksum", file.display())) }
}

fn json_of(file: &Path) -> Result<Value, String> {
    serde_json::from_str(&files::read(file)?).map_err(|error| format!("{}: {error}", file.display()))
}
