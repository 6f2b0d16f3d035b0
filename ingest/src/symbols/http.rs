//! Downloads from symbol servers that the user named. Nothing here runs unless `find` asks, and `find` asks only
//! for a server in the symbol path and not offline.
//!
//! A server that cannot be reached is given up for the rest of the run, so that a lake with a thousand modules
//! does not wait a thousand times.

use std::collections::HashMap;
use std::fs::File;
use std::sync::Mutex;

#[cfg(feature = "symbol-server")]
use std::{
    io::{self, Read},
    sync::OnceLock,
    time::Duration,
};

#[cfg(feature = "symbol-server")]
use super::{name::printable, pdb::PDB_BYTES_MAX};

/// Longest wait for a connection.
#[cfg(feature = "symbol-server")]
const CONNECT: Duration = Duration::from_secs(15);
/// Longest silence, before the answer begins and within it.
#[cfg(feature = "symbol-server")]
const SILENCE: Duration = Duration::from_secs(60);
/// Longest download altogether.
#[cfg(feature = "symbol-server")]
const WHOLE: Duration = Duration::from_secs(30 * 60);
/// Failures in a row after which a server is not asked again.
#[cfg(feature = "symbol-server")]
const FAILURES_MAX: u32 = 3;

/// The connections of one run and what is known about its servers.
#[derive(Default)]
pub(super) struct Http {
    #[cfg(feature = "symbol-server")]
    agent: OnceLock<ureq::Agent>,
    servers: Mutex<HashMap<String, Server>>,
}

#[derive(Clone, Copy, Default)]
#[cfg_attr(not(feature = "symbol-server"), allow(dead_code))]
struct Server {
    failures: u32,
    two_tiers: Option<bool>,
}

impl Http {
    /// A server's address and path components, percent-encoded.
    pub(super) fn url(base: &str, parts: &[&str]) -> String {
        let mut url = base.to_owned();
        for part in parts {
            url.push('/');
            for byte in part.bytes() {
                if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                    url.push(char::from(byte));
                } else {
                    url.push_str(&format!("%{byte:02X}"));
                }
            }
        }
        url
    }

    /// Whether the server keeps `index2.txt`; asked once a run.
    pub(super) fn has_two_tiers(&self, base: &str) -> bool {
        if let Some(known) = self.server(base).two_tiers {
            return known;
        }
        let url = Http::url(base, &["index2.txt"]);
        let answer = tempfile::tempfile()
            .map_err(|error| error.to_string())
            .and_then(|mut file| self.fetch(base, &url, &mut file))
            .unwrap_or(false);
        self.change(base, |server| server.two_tiers = Some(answer));
        answer
    }

    fn server(&self, base: &str) -> Server {
        self.servers
            .lock()
            .map(|servers| servers.get(base).copied())
            .ok()
            .flatten()
            .unwrap_or_default()
    }

    fn change(&self, base: &str, change: impl FnOnce(&mut Server)) {
        if let Ok(mut servers) = self.servers.lock() {
            change(servers.entry(base.to_owned()).or_default());
        }
    }
}

#[cfg(not(feature = "symbol-server"))]
impl Http {
    pub(super) fn fetch(&self, _: &str, _: &str, _: &mut File) -> Result<bool, String> {
        Err("this build of etwas has no symbol server support".to_owned())
    }
}

#[cfg(feature = "symbol-server")]
impl Http {
    /// Writes what is behind an address into a file. False: the server does not have it.
    pub(super) fn fetch(&self, base: &str, url: &str, out: &mut File) -> Result<bool, String> {
        if self.server(base).failures >= FAILURES_MAX {
            // Said before, once for each failure.
            return Ok(false);
        }
        let answer = self.get(url, out);
        self.change(base, |server| match &answer {
            Ok(_) => server.failures = 0,
            Err(_) => server.failures += 1,
        });
        answer
    }

    fn get(&self, url: &str, out: &mut File) -> Result<bool, String> {
        let text = |error: ureq::Error| printable(&error.to_string());
        let response = self.agent().get(url).call().map_err(text)?;
        match response.status().as_u16() {
            200 => {}
            // Stores behind plain file servers answer 403 for a folder that is not there.
            403 | 404 | 410 => return Ok(false),
            status => return Err(format!("the server answers {status}")),
        }
        let mut body = response.into_body();
        if body.content_length().is_some_and(|bytes| bytes > PDB_BYTES_MAX) {
            return Err(format!("larger than {PDB_BYTES_MAX} bytes"));
        }
        let reader = body.with_config().limit(PDB_BYTES_MAX).reader();
        let copied = io::copy(&mut reader.take(PDB_BYTES_MAX), out);
        copied.map_err(|error| printable(&error.to_string()))?;
        Ok(true)
    }

    fn agent(&self) -> &ureq::Agent {
        self.agent.get_or_init(|| {
            ureq::Agent::config_builder()
                .http_status_as_error(false)
                .timeout_connect(Some(CONNECT))
                .timeout_recv_response(Some(SILENCE))
                .timeout_per_read(Some(SILENCE))
                .timeout_global(Some(WHOLE))
                .user_agent(concat!("etwas/", env!("CARGO_PKG_VERSION")))
                .build()
                .new_agent()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Http;

    #[test]
    fn names_become_path_components() {
        let url = Http::url("http://h/s", &["a b#ä.pdb", "0A1", "..%2f"]);
        assert_eq!(url, "http://h/s/a%20b%23%C3%A4.pdb/0A1/..%252f");
    }
}
