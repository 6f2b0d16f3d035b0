//! A symbol server on loopback, in the few lines of HTTP that it takes.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::*;
use crate::symbols::Trouble;

type Pages = Vec<(String, Vec<u8>)>;

/// How the server behaves where it does not simply answer.
#[derive(Clone, Copy, PartialEq)]
enum Mood {
    Plain,
    /// Announces more than it sends.
    Cut,
    /// Answers 500.
    Broken,
}

/// Serves pages until the test process ends; what was asked for is written down.
fn serve(pages: Pages, mood: Mood) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port on loopback");
    let address = format!("http://{}/sym", listener.local_addr().expect("an address"));
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = answer(stream, &pages, mood, &log);
        }
    });
    (address, asked)
}

fn answer(
    mut stream: TcpStream,
    pages: &Pages,
    mood: Mood,
    log: &Mutex<Vec<String>>,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut request = String::new();
    reader.read_line(&mut request)?;
    let mut header = String::new();
    while reader.read_line(&mut header)? > 2 {
        header.clear();
    }
    let target = request.split(' ').nth(1).unwrap_or_default().to_owned();
    let page = pages.iter().find(|(path, _)| format!("/sym/{path}") == target);
    log.lock().expect("the log").push(target);
    match (page, mood) {
        (_, Mood::Broken) => {
            stream.write_all(b"HTTP/1.1 500 no\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        }
        (None, _) => {
            stream.write_all(b"HTTP/1.1 404 no\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        }
        (Some((_, content)), mood) => {
            let claimed = content.len() + if mood == Mood::Cut { 1000 } else { 0 };
            write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Length: {claimed}\r\nConnection: close\r\n\r\n"
            )?;
            stream.write_all(content)
        }
    }
}

fn page(parts: [&str; 3], content: Vec<u8>) -> Pages {
    vec![(parts.join("/"), content)]
}

#[test]
fn a_server_fills_the_cache_once() {
    let lines = truth_of("ntoskrnl.exe");
    let identity = &lines[0].identity;
    let content = fs::read(pdb_of(identity)).unwrap();
    let (name, id) = ("ntkrnlmp.pdb", identity.module_id.as_str());
    for (file, body) in [(name, content.clone()), ("ntkrnlmp.pd_", cabinet(name, &content))] {
        let (url, asked) = serve(page([name, id, file], body), Mood::Plain);
        let cache = tempfile::tempdir().unwrap();
        let path = format!("srv*{}*{url}", cache.path().display());
        assert_eq!(found(&Resolver::new(&options(&path)), &lines), expected(&lines), "{file}");
        let kept = cache.path().join(name).join(id).join(name);
        assert_eq!(fs::read(kept).unwrap(), content);
        let before = asked.lock().unwrap().len();
        assert_eq!(found(&Resolver::new(&options(&path)), &lines), expected(&lines));
        assert_eq!(asked.lock().unwrap().len(), before, "the second time nobody is asked");
    }
}

#[test]
fn a_two_tier_server_without_a_cache() {
    let lines = truth_of("cmd.exe");
    let identity = &lines[0].identity;
    let content = fs::read(pdb_of(identity)).unwrap();
    let mut pages = page(["cm/cmd.pdb", &identity.module_id, "cmd.pdb"], content);
    pages.push(("index2.txt".to_owned(), Vec::new()));
    let (url, _) = serve(pages, Mood::Plain);
    let resolver = Resolver::new(&options(&format!("srv*{url}")));
    assert_eq!(found(&resolver, &lines), expected(&lines));
}

#[test]
fn offline_asks_nobody() {
    let lines = truth_of("cmd.exe");
    let (url, asked) = serve(Vec::new(), Mood::Plain);
    let offline = SymbolOptions { offline: true, ..options(&format!("srv*{url}")) };
    assert_eq!(found(&Resolver::new(&offline), &lines), vec![None; lines.len() * 3]);
    assert!(asked.lock().unwrap().is_empty());
}

#[test]
fn what_a_server_gets_wrong_is_never_kept() {
    let lines = truth_of("cmd.exe");
    let identity = &lines[0].identity;
    let content = fs::read(pdb_of(identity)).unwrap();
    let other = fs::read(pdb_of(&truth_of("srudb.dll")[0].identity)).unwrap();
    for (body, mood, trouble) in [
        (content.clone(), Mood::Cut, Trouble::Unreadable),
        (content.clone(), Mood::Broken, Trouble::Unreadable),
        (content[..content.len() / 2].to_vec(), Mood::Plain, Trouble::Damaged),
        (b"<html>Please sign in</html>".to_vec(), Mood::Plain, Trouble::Damaged),
        (other, Mood::Plain, Trouble::WrongGuid),
    ] {
        let (url, _) = serve(page(["cmd.pdb", &identity.module_id, "cmd.pdb"], body), mood);
        let cache = tempfile::tempdir().unwrap();
        let path = format!("srv*{}*{url}", cache.path().display());
        let outcome = Resolver::new(&options(&path)).resolve(identity, &probes(&lines));
        assert_eq!(outcome.names.len(), 0);
        assert_eq!(outcome.complaints[0].trouble, trouble, "{:?}", outcome.complaints);
        assert_eq!(fs::read_dir(cache.path()).unwrap().count(), 0, "{:?}", outcome.complaints);
    }
}

#[test]
fn a_server_that_is_not_there_is_given_up() {
    // A port that nobody listens on any more.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let resolver = Resolver::new(&options(&format!("srv*http://127.0.0.1:{port}")));
    let identities: Vec<ModuleIdentity> = truth().into_iter().map(|it| it.identity).collect();
    let complaints: usize = identities
        .iter()
        .map(|identity| resolver.resolve(identity, &[0x1000]).complaints.len())
        .sum();
    assert!((1..=3).contains(&complaints), "{complaints}");
}
