//! Which application a packet belongs to: the service of the smaller port (Cáceres 1992, methods G.1).

/// How an application uses the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Moves files, pages or mail: long packets one way.
    Bulk,
    /// A person types and reads: short packets both ways, with pauses.
    Interactive,
    /// Neither: look-ups, control, telemetry, streams of their own, and what no service is known of.
    Other,
}

impl Class {
    /// The name reports use.
    pub const fn name(self) -> &'static str {
        match self {
            Class::Bulk => "bulk",
            Class::Interactive => "interactive",
            Class::Other => "other",
        }
    }
}

/// What belongs to one conversation of an application.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Grouping {
    /// The packets of one association.
    Association,
    /// FTP control and data connections of a host pair.
    Ftp,
    /// NNTP connections of a host pair.
    Nntp,
}

/// What an application calls an item, and how one is told in its packets (methods G.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Items {
    /// No items.
    None,
    /// A conversation is one item: what the client sent.
    Mail,
    /// A data connection is an item.
    DataConnections,
    /// From a packet of 250 bytes or more to the first with PUSH.
    Articles,
}

/// An application: a service over TCP or UDP, or [`Application::other`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Application(u8);

#[derive(Debug)]
struct Service {
    name: &'static str,
    transport: Transport,
    class: Class,
    ports: &'static [u16],
}

const fn tcp(name: &'static str, class: Class, ports: &'static [u16]) -> Service {
    Service { name, transport: Transport::Tcp, class, ports }
}

const fn udp(name: &'static str, class: Class, ports: &'static [u16]) -> Service {
    Service { name, transport: Transport::Udp, class, ports }
}

use Class::{Bulk, Interactive, Other};

/// The services told apart: those of the classic studies, and the common ones of today. The last two are everything else.
static SERVICES: [Service; 66] = [
    tcp("ftp", Bulk, &[20, 21]),
    tcp("telnet", Interactive, &[23]),
    tcp("smtp", Bulk, &[25, 465, 587]),
    tcp("nntp", Bulk, &[119]),
    tcp("rlogin", Interactive, &[513]),
    tcp("domain", Other, &[53, 853]),
    tcp("finger", Other, &[79]),
    tcp("shell", Other, &[514]),
    tcp("x11", Interactive, &[6000, 6001, 6002, 6003, 6004, 6005]),
    tcp("irc", Interactive, &[194, 6667, 6697]),
    tcp("gopher", Bulk, &[70]),
    tcp("whois", Other, &[43]),
    tcp("ident", Other, &[113]),
    tcp("sunrpc", Other, &[111]),
    tcp("nfs", Bulk, &[2049]),
    tcp("printer", Bulk, &[515, 631, 9100]),
    tcp("http", Bulk, &[80, 8000, 8008, 8080]),
    tcp("https", Bulk, &[443, 8443]),
    tcp("ssh", Interactive, &[22]),
    tcp("pop", Bulk, &[109, 110, 995]),
    tcp("imap", Bulk, &[143, 220, 993]),
    tcp("ftps", Bulk, &[989, 990]),
    tcp("rsync", Bulk, &[873]),
    tcp("git", Bulk, &[9418]),
    tcp("smb", Bulk, &[139, 445]),
    tcp("msrpc", Other, &[135]),
    tcp("kerberos", Other, &[88]),
    tcp("ldap", Other, &[389, 636]),
    tcp("bgp", Other, &[179]),
    tcp("rdp", Interactive, &[3389]),
    tcp("vnc", Interactive, &[5900, 5901]),
    tcp("mqtt", Other, &[1883, 8883]),
    tcp("amqp", Other, &[5671, 5672]),
    tcp("xmpp", Interactive, &[5222, 5223]),
    tcp("sip", Other, &[5060, 5061]),
    tcp("rtsp", Other, &[554, 8554]),
    tcp("rtmp", Other, &[1935]),
    tcp("proxy", Bulk, &[1080, 3128]),
    tcp("mysql", Other, &[3306]),
    tcp("postgresql", Other, &[5432]),
    tcp("ms-sql", Other, &[1433]),
    tcp("redis", Other, &[6379]),
    tcp("modbus", Other, &[502]),
    udp("domain", Other, &[53]),
    udp("ntp", Other, &[123]),
    udp("dhcp", Other, &[67, 68, 546, 547]),
    udp("tftp", Bulk, &[69]),
    udp("sunrpc", Other, &[111]),
    udp("netbios", Other, &[137, 138]),
    udp("snmp", Other, &[161, 162]),
    udp("talk", Interactive, &[517, 518]),
    udp("rwho", Other, &[513]),
    udp("route", Other, &[520, 521]),
    udp("syslog", Other, &[514]),
    udp("nfs", Bulk, &[2049]),
    udp("quic", Bulk, &[80, 443, 8443]),
    udp("ipsec", Other, &[500, 4500]),
    udp("vpn", Other, &[1194, 1701, 51820]),
    udp("radius", Other, &[1812, 1813]),
    udp("sip", Other, &[5060, 5061]),
    udp("stun", Other, &[3478, 19302]),
    udp("ssdp", Other, &[1900]),
    udp("mdns", Other, &[5353, 5355]),
    udp("coap", Other, &[5683, 5684]),
    tcp("other", Other, &[]),
    udp("other", Other, &[]),
];

impl Application {
    /// FTP, control and data.
    pub const FTP: Application = Application(0);
    /// TELNET.
    pub const TELNET: Application = Application(1);
    /// Mail between and to servers.
    pub const SMTP: Application = Application(2);
    /// Network news.
    pub const NNTP: Application = Application(3);
    /// Remote login.
    pub const RLOGIN: Application = Application(4);

    /// How many there are.
    pub(super) const COUNT: usize = SERVICES.len();

    /// Every application, TCP first.
    pub fn all() -> impl Iterator<Item = Application> {
        (0..SERVICES.len() as u8).map(Application)
    }

    /// The application without a known service.
    pub const fn other(transport: Transport) -> Application {
        match transport {
            Transport::Tcp => Application(SERVICES.len() as u8 - 2),
            Transport::Udp => Application(SERVICES.len() as u8 - 1),
        }
    }

    /// The service of the smaller of two ports.
    pub fn of(transport: Transport, ports: [u16; 2]) -> Application {
        let port = ports[0].min(ports[1]);
        let known = SERVICES.iter().position(|service| service.transport == transport && service.ports.contains(&port));
        known.map_or(Application::other(transport), |at| Application(at as u8))
    }

    fn service(self) -> &'static Service {
        &SERVICES[usize::from(self.0)]
    }

    pub(super) fn index(self) -> usize {
        usize::from(self.0)
    }

    /// The service's name; the same over TCP and UDP.
    pub fn name(self) -> &'static str {
        self.service().name
    }

    /// What it runs over.
    pub fn transport(self) -> Transport {
        self.service().transport
    }

    /// How it uses the network.
    pub fn class(self) -> Class {
        self.service().class
    }

    pub(super) fn grouping(self) -> Grouping {
        match self {
            Application::FTP => Grouping::Ftp,
            Application::NNTP => Grouping::Nntp,
            _ => Grouping::Association,
        }
    }

    pub(super) fn items(self) -> Items {
        match self {
            Application::FTP => Items::DataConnections,
            Application::NNTP => Items::Articles,
            Application::SMTP => Items::Mail,
            _ => Items::None,
        }
    }
}

/// What a packet's application runs over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Transport {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

impl Transport {
    /// The name reports use.
    pub const fn name(self) -> &'static str {
        match self {
            Transport::Tcp => "tcp",
            Transport::Udp => "udp",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smaller_port_names_the_service() {
        let name = |transport, ports| Application::of(transport, ports).name();
        assert_eq!(name(Transport::Tcp, [51_234, 443]), "https");
        assert_eq!(name(Transport::Udp, [443, 51_234]), "quic");
        assert_eq!(name(Transport::Tcp, [8080, 80]), "http");
        assert_eq!(Application::of(Transport::Tcp, [20, 1025]), Application::FTP);
        assert_eq!(Application::of(Transport::Tcp, [4000, 3389]).name(), "rdp");
        // The smaller port is no service: that the larger one is does not count.
        assert_eq!(Application::of(Transport::Tcp, [1500, 3389]), Application::other(Transport::Tcp));
    }

    #[test]
    fn names_and_ports_are_unique_within_a_transport() {
        for (at, service) in SERVICES.iter().enumerate() {
            for other in SERVICES[at + 1..].iter().filter(|other| other.transport == service.transport) {
                assert_ne!(service.name, other.name);
                assert!(!service.ports.iter().any(|port| other.ports.contains(port)), "{service:?} {other:?}");
            }
        }
        let constants =
            [Application::FTP, Application::TELNET, Application::SMTP, Application::NNTP, Application::RLOGIN];
        assert_eq!(constants.map(Application::name), ["ftp", "telnet", "smtp", "nntp", "rlogin"]);
        assert_eq!(Application::other(Transport::Udp).transport(), Transport::Udp);
        assert_eq!(Application::other(Transport::Tcp).name(), "other");
    }

    #[test]
    fn classes_of_the_published_study() {
        for bulk in [Application::FTP, Application::NNTP, Application::SMTP] {
            assert_eq!(bulk.class(), Class::Bulk);
        }
        for interactive in [Application::TELNET, Application::RLOGIN] {
            assert_eq!(interactive.class(), Class::Interactive);
        }
    }
}
