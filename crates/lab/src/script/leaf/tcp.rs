//! The keys of `[tcp]` in leaves: of the protocol of a `test`, whose sockets are the host's, and of a `replay`, which has a network namespace
//! of its own.

use flowloom_core::keys::walk::{Node, NodeValue};
use flowloom_core::tcp;
use flowloom_core::tcp::keys::Tcp;
use flowloom_live::host::settings::Settings;
use flowloom_sim::Class;

use super::super::diagnostic::Diagnostic;
use super::super::format;
use super::super::tree::Argument;
use super::arguments::Arguments;
use super::keys::{Entry, Keys, TCP};

/// The key that a socket can be told.
const CONGESTION: &str = "congestion";
/// The key of connections of a workload.
const CLASSES: &str = "classes";

impl Arguments<'_> {
    /// Keys of `[tcp]` that are arguments, and the TCP of an experiment with them, whose profile is `profile` unless they say.
    fn tcp_keys(&mut self, profile: Option<&str>) -> (Vec<(&'static str, Argument)>, Option<Tcp>) {
        let mut keys = Keys::of(&TCP, self.place());
        let given = self.keys(&keys);
        let mut entries = keys.entries(&given);
        if let Some(profile) = profile.filter(|_| !keys.is_given(&entries, "profile")) {
            let node = Node { place: 0, value: NodeValue::Plain(profile.into()) };
            entries.push(("profile".to_owned(), 0, node));
        }
        let tcp = self.tcp_of(&mut keys, &entries);
        (given.into_iter().map(|(key, argument)| (key, argument.clone())).collect(), tcp)
    }

    fn tcp_of(&mut self, keys: &mut Keys, entries: &[Entry]) -> Option<Tcp> {
        let place = self.place();
        let mut wrong = keys.wrong(entries);
        let tcp = match wrong.is_empty() {
            true => keys.read::<Tcp>(entries),
            false => Err(String::new()),
        };
        match &tcp {
            Ok(tcp) => {
                let problems = tcp.problems("tcp");
                wrong.extend(problems.iter().map(|problem| keys.impossible(entries, "tcp", problem, place)));
            }
            Err(problem) if wrong.is_empty() => wrong.push(Diagnostic::error(place, problem)),
            Err(_) => {}
        }
        let is_good = wrong.is_empty();
        self.found().append(&mut wrong);
        tcp.ok().filter(|_| is_good)
    }

    /// The TCP of a leaf in a network namespace of its own, Linux's unless its keys say otherwise.
    pub fn own_tcp(&mut self) -> Option<tcp::Config> {
        let (given, tcp) = self.tcp_keys(Some("linux"));
        if let Some((_, classes)) = given.iter().find(|(key, _)| *key == CLASSES) {
            let message = "classes choose connections by their own TCP, and those of a replay all have this one";
            self.found().push(Diagnostic::warning(classes.place, message));
        }
        tcp.map(|tcp| tcp.config())
    }

    /// The congestion control of a socket, if the keys name one; of every other key a note says that the host's kernel decides.
    pub fn socket_tcp(&mut self) -> Option<String> {
        let (given, tcp) = self.tcp_keys(None);
        let class = Class { tcp: tcp?.config(), ..Class::default() };
        let (settings, options) = Settings::for_remote(&[class]).ok()?;
        for (key, argument) in &given {
            let own = settings.notes().iter().find(|note| note.key == *key);
            let message = match own {
                Some(note) => note.to_string(),
                None if *key == CONGESTION => continue,
                None if *key == CLASSES => "classes are of connections of a workload, and a leaf has none".to_owned(),
                None => {
                    let asked = format::value(&argument.value);
                    format!("{key} = {asked} is not a socket's to choose: the kernel's own setting holds")
                }
            };
            self.found().push(Diagnostic::note(argument.place, message));
        }
        given.iter().find(|(key, _)| *key == CONGESTION)?;
        options.into_iter().next()?.congestion
    }
}
