"""One load of Tmix vectors in ns-3 (PyPI's `ns3`): a dumbbell with a path delay per connection, TCP as sim_peers.py asks for.

Every vector is a connection that asks once and is answered once. The application is C++, compiled by cppyy as the module is
loaded, so that no packet goes through Python. Prints one line of JSON; `cpu` is the simulation alone, without imports,
compilation and topology."""

import argparse
import json
import resource
import time

import cppyy
from ns import ns

APPLICATION = r"""
using namespace ns3;

struct Load {
  uint32_t request = 0, response = 0;
  uint64_t delivered = 0, sent = 0, dropped = 0;
  std::vector<double> responses;
  Ptr<Node> server;

  struct Client { double asked; uint64_t got; };
  Ptr<Socket> listener;
  std::map<Ptr<Socket>, Client> clients;
  std::map<Ptr<Socket>, uint64_t> asking, left;

  void Listen() {
    listener = Socket::CreateSocket(server, TcpSocketFactory::GetTypeId());
    listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), 80));
    listener->Listen();
    listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(), MakeCallback(&Load::Accepted, this));
  }

  void Connect(Ptr<Node> node, Ipv4Address to) {
    Ptr<Socket> socket = Socket::CreateSocket(node, TcpSocketFactory::GetTypeId());
    clients[socket] = {0, 0};
    socket->SetConnectCallback(MakeCallback(&Load::Connected, this), MakeNullCallback<void, Ptr<Socket>>());
    socket->SetRecvCallback(MakeCallback(&Load::Answered, this));
    socket->Bind();
    socket->Connect(InetSocketAddress(to, 80));
  }

  void ConnectAt(double at, Ptr<Node> node, Ipv4Address to) { Simulator::Schedule(Seconds(at), &Load::Connect, this, node, to); }

  void Connected(Ptr<Socket> socket) {
    clients[socket].asked = Simulator::Now().GetSeconds();
    socket->Send(Create<Packet>(request));
  }

  void Accepted(Ptr<Socket> socket, const Address&) {
    asking[socket] = 0;
    socket->SetRecvCallback(MakeCallback(&Load::Asked, this));
    socket->SetSendCallback(MakeCallback(&Load::Room, this));
  }

  static uint64_t Take(Ptr<Socket> socket) {
    uint64_t bytes = 0;
    Ptr<Packet> packet;
    while ((packet = socket->Recv()) && packet->GetSize() > 0) bytes += packet->GetSize();
    return bytes;
  }

  void Asked(Ptr<Socket> socket) {
    uint64_t bytes = Take(socket);
    delivered += bytes;
    auto found = asking.find(socket);
    if (found == asking.end() || (found->second += bytes) < request) return;
    asking.erase(found);
    left[socket] = response;
    Push(socket);
  }

  void Room(Ptr<Socket> socket, uint32_t) {
    if (left.count(socket)) Push(socket);
  }

  void Push(Ptr<Socket> socket) {
    uint64_t& bytes = left[socket];
    while (bytes > 0 && socket->GetTxAvailable() > 0) {
      int taken = socket->Send(Create<Packet>(std::min<uint64_t>(bytes, socket->GetTxAvailable())));
      if (taken <= 0) return;
      bytes -= taken;
    }
    if (bytes > 0) return;
    left.erase(socket);
    socket->Close();
  }

  void Answered(Ptr<Socket> socket) {
    uint64_t bytes = Take(socket);
    delivered += bytes;
    auto found = clients.find(socket);
    if (found == clients.end() || (found->second.got += bytes) < response) return;
    responses.push_back(Simulator::Now().GetSeconds() - found->second.asked);
    clients.erase(found);
    socket->Close();
  }

  void Sent(Ptr<const Packet>) { ++sent; }
  void Dropped(Ptr<const Packet>) { ++dropped; }
  // What finds the device's queue full is dropped one layer above it.
  void Watch(Ptr<NetDevice> device) {
    device->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&Load::Sent, this));
    Ptr<TrafficControlLayer> layer = device->GetNode()->GetObject<TrafficControlLayer>();
    layer->TraceConnectWithoutContext("TcDrop", MakeCallback(&Load::Dropped, this));
  }
};
"""


def vectors(path):
    """Start in seconds and round-trip time in microseconds of each connection, and the sizes all of them share."""
    rows, start, round_trip, request, response = [], 0.0, 0, 0, 0
    with open(path, encoding="ascii") as lines:
        for line in lines:
            fields = line.split()
            if fields[0] == "SEQ":
                start = int(fields[1]) / 1e6
            elif fields[0] == "r":
                round_trip = int(fields[1])
            elif fields[0] == ">":
                request = int(fields[1])
            elif fields[0] == "<":
                response = int(fields[1])
                rows.append((start, round_trip))
    return rows, request, response


def configure(arguments):
    """TCP's attributes."""
    boolean, count, time_value = ns.BooleanValue, ns.UintegerValue, ns.TimeValue
    attributes = {
        "TcpL4Protocol::SocketType": ns.TypeIdValue(ns.TypeId.LookupByName("ns3::TcpNewReno")),
        "TcpL4Protocol::RecoveryType": ns.TypeIdValue(ns.TypeId.LookupByName("ns3::" + arguments.recovery)),
        "TcpSocket::SegmentSize": count(1460),
        "TcpSocket::InitialCwnd": count(arguments.initial_window),
        "TcpSocket::DelAckTimeout": time_value(ns.MilliSeconds(100)),
        "TcpSocket::DelAckCount": count(arguments.segments_per_ack),
        "TcpSocket::TcpNoDelay": boolean(True),
        "TcpSocket::SndBufSize": count(max(arguments.window, 1 << 20)),
        "TcpSocket::RcvBufSize": count(arguments.window),
        "TcpSocketBase::Sack": boolean(arguments.sack),
        "TcpSocketBase::LimitedTransmit": boolean(False),
        "TcpSocketBase::Timestamp": boolean(False),
        "TcpSocketBase::MinRto": time_value(ns.MilliSeconds(200)),
    }
    for name, value in attributes.items():
        ns.Config.SetDefault("ns3::" + name, value)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vectors")
    parser.add_argument("--rate", required=True, type=int, help="bits per second of the bottleneck")
    parser.add_argument("--queue", required=True, type=int, help="packets in front of it")
    parser.add_argument("--seconds", required=True, type=float, help="simulated time")
    parser.add_argument("--window", required=True, type=int, help="receive buffer in bytes")
    parser.add_argument("--initial-window", type=int, default=3)
    parser.add_argument("--segments-per-ack", type=int, default=2)
    parser.add_argument("--sack", action="store_true")
    parser.add_argument("--recovery", default="TcpClassicRecovery")
    arguments = parser.parse_args()

    cppyy.cppdef(APPLICATION)
    configure(arguments)
    rows, request, response = vectors(arguments.vectors)
    branches = {round_trip: index for index, round_trip in enumerate(sorted({row[1] for row in rows}))}

    clients, routers, server = ns.NodeContainer(), ns.NodeContainer(), ns.NodeContainer()
    clients.Create(len(branches))
    routers.Create(2)
    server.Create(1)
    stack, control, addresses = ns.InternetStackHelper(), ns.TrafficControlHelper(), ns.Ipv4AddressHelper()
    for nodes in (clients, routers, server):
        stack.Install(nodes)

    def link(one, other, rate, delay, network, queue=1_000_000):
        helper = ns.PointToPointHelper()
        helper.SetDeviceAttribute("DataRate", ns.StringValue(f"{rate}bps"))
        helper.SetChannelAttribute("Delay", ns.StringValue(delay))
        helper.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", ns.QueueSizeValue(ns.QueueSize(f"{queue}p")))
        pair = ns.NodeContainer()
        pair.Add(one)
        pair.Add(other)
        devices = helper.Install(pair)
        addresses.SetBase(ns.Ipv4Address(network), ns.Ipv4Mask("255.255.255.0"))
        interfaces = addresses.Assign(devices)
        # The queue of the device is the only one.
        control.Uninstall(devices)
        return interfaces, devices

    for round_trip, index in branches.items():
        link(clients.Get(index), routers.Get(0), 10**11, f"{round_trip * 500}ns", f"10.1.{index}.0")
    _, bottleneck = link(routers.Get(0), routers.Get(1), arguments.rate, "0ns", "10.2.0.0", arguments.queue)
    interfaces, _ = link(routers.Get(1), server.Get(0), 10**11, "0ns", "10.3.0.0")
    ns.Ipv4GlobalRoutingHelper.PopulateRoutingTables()

    load = cppyy.gbl.Load()
    load.request, load.response = request, response
    load.server = server.Get(0)
    load.Listen()
    for end in range(2):
        load.Watch(bottleneck.Get(end))
    for start, round_trip in rows:
        load.ConnectAt(start, clients.Get(branches[round_trip]), interfaces.GetAddress(1))

    begin = time.process_time()
    ns.Simulator.Stop(ns.Seconds(arguments.seconds))
    ns.Simulator.Run()
    cpu = time.process_time() - begin
    print(json.dumps({
        "cpu": cpu,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000,
        "goodput": 8 * int(load.delivered) / arguments.seconds,
        "packets": int(load.sent + load.dropped),
        "dropped": int(load.dropped),
        "completed": len(load.responses),
        "response": sum(load.responses) / len(load.responses) if len(load.responses) else None,
    }))


if __name__ == "__main__":
    main()
