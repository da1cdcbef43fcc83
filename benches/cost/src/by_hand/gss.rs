//! MIT's GSS library: what the loop by hand signs and encrypts with. It is loaded at run time, because Debian installs it without the
//! headers and the name that a linker needs (libkrb5-dev has both).
//!
//! The process ends with the measurement, so nothing is released but the library's output.
//!
//! Spec: RFC 2744 (the functions), RFC 4121 (their tokens)

use std::ffi::{CStr, c_int, c_void};
use std::ops::Deref;
use std::ptr::{null, null_mut};

/// A context, a name, or credentials.
type Handle = *mut c_void;

/// gss_buffer_desc.
#[repr(C)]
struct Bytes {
    length: usize,
    value: *const c_void,
}

/// gss_OID_desc.
#[repr(C)]
struct Oid {
    length: u32,
    elements: *const c_void,
}

type ImportName = unsafe extern "C" fn(*mut u32, *const Bytes, *const Oid, *mut Handle) -> u32;
type InitContext = unsafe extern "C" fn(
    *mut u32,
    Handle,
    *mut Handle,
    Handle,
    *const Oid,
    u32,
    u32,
    *const c_void,
    *const Bytes,
    *mut *const Oid,
    *mut Bytes,
    *mut u32,
    *mut u32,
) -> u32;
type GetMic = unsafe extern "C" fn(*mut u32, Handle, u32, *const Bytes, *mut Bytes) -> u32;
type VerifyMic = unsafe extern "C" fn(*mut u32, Handle, *const Bytes, *const Bytes, *mut u32) -> u32;
type Wrap = unsafe extern "C" fn(*mut u32, Handle, c_int, u32, *const Bytes, *mut c_int, *mut Bytes) -> u32;
type Unwrap = unsafe extern "C" fn(*mut u32, Handle, *const Bytes, *mut Bytes, *mut c_int, *mut u32) -> u32;
type ReleaseBuffer = unsafe extern "C" fn(*mut u32, *mut Bytes) -> u32;

/// 1.2.840.113554.1.2.2, Kerberos 5, and 1.2.840.113554.1.2.2.1, its principals' names.
const PRINCIPAL: &[u8] = &[0x2A, 0x86, 0x48, 0x86, 0xF7, 0x12, 0x01, 0x02, 0x02, 0x01];
/// Bytes of the first.
const KERBEROS: u32 = 9;
/// GSS_C_MUTUAL_FLAG, GSS_C_CONF_FLAG, GSS_C_INTEG_FLAG. RPCSEC_GSS forbids the library's own sequence numbers (RFC 2203 5.2.2).
const WANTED: u32 = 2 | 16 | 32;
const COMPLETE: u32 = 0;
const CONTINUE_NEEDED: u32 = 1;

/// A context of the side that initiates.
pub struct Context {
    context: Handle,
    service: Handle,
    init_context: InitContext,
    get_mic: GetMic,
    verify_mic: VerifyMic,
    wrap: Wrap,
    unwrap: Unwrap,
    release: ReleaseBuffer,
}

impl Context {
    /// With a service, such as `nfs/server@REALM`, and the account of the environment's credential cache. It is not established yet.
    pub fn new(service: &str) -> Result<Self, String> {
        // SAFETY: the name is a C string, and the library's constructors have no requirements.
        let library = unsafe { libc::dlopen(c"libgssapi_krb5.so.2".as_ptr(), libc::RTLD_NOW) };
        if library.is_null() {
            return Err("needs libgssapi_krb5.so.2 (Debian: libgssapi-krb5-2)".to_owned());
        }
        // SAFETY: the types are those of MIT's gssapi.h.
        let (import_name, mut new) = unsafe {
            let import_name: ImportName = function(library, c"gss_import_name")?;
            let new = Self {
                context: null_mut(),
                service: null_mut(),
                init_context: function(library, c"gss_init_sec_context")?,
                get_mic: function(library, c"gss_get_mic")?,
                verify_mic: function(library, c"gss_verify_mic")?,
                wrap: function(library, c"gss_wrap")?,
                unwrap: function(library, c"gss_unwrap")?,
                release: function(library, c"gss_release_buffer")?,
            };
            (import_name, new)
        };
        let (name, kind) = (bytes(service.as_bytes()), oid(PRINCIPAL.len() as u32));
        let mut minor = 0;
        // SAFETY: all pointers are to values that outlive the call; the library copies what it keeps.
        let major = unsafe { import_name(&raw mut minor, &name, &kind, &raw mut new.service) };
        done("gss_import_name", major, minor).map(|()| new)
    }

    /// Takes the server's token, at first an empty one. Returns the token for the server, and whether the context is established.
    pub fn step(&mut self, token: &[u8]) -> Result<(Output, bool), String> {
        let (token, kind, mut out) = (bytes(token), oid(KERBEROS), self.output());
        let (mut minor, mut flags) = (0, 0);
        // SAFETY: null pointers stand for the default credentials, no channel bindings and unwanted results; the other pointers are to
        // values that outlive the call.
        let major = unsafe {
            (self.init_context)(
                &raw mut minor,
                null_mut(),
                &raw mut self.context,
                self.service,
                &kind,
                WANTED,
                0,
                null(),
                &token,
                null_mut(),
                &raw mut out.bytes,
                &raw mut flags,
                null_mut(),
            )
        };
        if major == CONTINUE_NEEDED {
            return Ok((out, false));
        }
        done("gss_init_sec_context", major, minor)?;
        if flags & WANTED == WANTED { Ok((out, true)) } else { Err(format!("the context has only the flags {flags}")) }
    }

    /// The signature of a text.
    pub fn sign(&self, text: &[u8]) -> Result<Output, String> {
        let (text, mut out, mut minor) = (bytes(text), self.output(), 0);
        // SAFETY: the context is established; all pointers are to values that outlive the call.
        let major = unsafe { (self.get_mic)(&raw mut minor, self.context, 0, &text, &raw mut out.bytes) };
        done("gss_get_mic", major, minor).map(|()| out)
    }

    /// Checks the server's signature of a text.
    pub fn verify(&self, text: &[u8], signature: &[u8]) -> Result<(), String> {
        let (text, signature, mut minor) = (bytes(text), bytes(signature), 0);
        // SAFETY: as in `sign`; a null pointer stands for an unwanted result.
        let major = unsafe { (self.verify_mic)(&raw mut minor, self.context, &text, &signature, null_mut()) };
        done("gss_verify_mic", major, minor)
    }

    /// A text, encrypted.
    pub fn seal(&self, text: &[u8]) -> Result<Output, String> {
        let (text, mut out, mut minor, mut is_sealed) = (bytes(text), self.output(), 0, 0);
        // SAFETY: as in `sign`.
        let major =
            unsafe { (self.wrap)(&raw mut minor, self.context, 1, 0, &text, &raw mut is_sealed, &raw mut out.bytes) };
        done("gss_wrap", major, minor)?;
        if is_sealed != 0 { Ok(out) } else { Err("gss_wrap did not encrypt".to_owned()) }
    }

    /// The text that the server encrypted.
    pub fn open(&self, token: &[u8]) -> Result<Output, String> {
        let (token, mut out, mut minor, mut was_sealed) = (bytes(token), self.output(), 0, 0);
        // SAFETY: as in `verify`.
        let major = unsafe {
            (self.unwrap)(&raw mut minor, self.context, &token, &raw mut out.bytes, &raw mut was_sealed, null_mut())
        };
        done("gss_unwrap", major, minor)?;
        if was_sealed != 0 { Ok(out) } else { Err("the server did not encrypt".to_owned()) }
    }

    fn output(&self) -> Output {
        Output { bytes: Bytes { length: 0, value: null() }, release: self.release }
    }
}

/// Bytes that the library has allocated.
pub struct Output {
    bytes: Bytes,
    release: ReleaseBuffer,
}

impl Deref for Output {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        if self.bytes.value.is_null() {
            return &[];
        }
        // SAFETY: the library has filled in both, and the bytes are there until they are released.
        unsafe { std::slice::from_raw_parts(self.bytes.value.cast(), self.bytes.length) }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        let mut minor = 0;
        // SAFETY: the bytes are the library's, or there are none, which it allows.
        unsafe { (self.release)(&raw mut minor, &raw mut self.bytes) };
    }
}

/// # Safety
/// `F` is the type of a pointer to this function.
unsafe fn function<F: Copy>(library: Handle, name: &CStr) -> Result<F, String> {
    // SAFETY: the library is loaded, and the name is a C string.
    let symbol = unsafe { libc::dlsym(library, name.as_ptr()) };
    if symbol.is_null() {
        return Err(format!("libgssapi_krb5.so.2 has no {}", name.to_string_lossy()));
    }
    // SAFETY: the caller vouches for the type, and pointers to functions are as large as others.
    Ok(unsafe { std::mem::transmute_copy::<Handle, F>(&symbol) })
}

fn bytes(of: &[u8]) -> Bytes {
    Bytes { length: of.len(), value: of.as_ptr().cast() }
}

/// The name with this number of bytes of [`PRINCIPAL`].
fn oid(length: u32) -> Oid {
    Oid { length, elements: PRINCIPAL.as_ptr().cast() }
}

fn done(function: &str, major: u32, minor: u32) -> Result<(), String> {
    if major == COMPLETE { Ok(()) } else { Err(format!("{function}: major status {major:#x}, minor status {minor}")) }
}
