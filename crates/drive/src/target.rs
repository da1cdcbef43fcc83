//! Which server: `smb://user:password@host:port/share/path`, `nfs://…`, `file:///…`, `embedded:smb`, `embedded:nfs`.
