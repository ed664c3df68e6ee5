// A benchmark workload in ns-3: DRIVER WORKLOAD SECONDS time|count
//
// The workload is a text file, a statement a line, written by ns3.py beside this folder:
//   nodes COUNT
//   link A B BIT_S DELAY_NS PACKETS        one way; forward and backward follow each other
//   red MIN MAX MAX_P W_Q BYTES PACKETS    of the last link
//   compare                                the last link is (part of) the bottleneck
//   route NODE DESTINATION NEXT
//   tcp FROM TO MSS START_NS
//   cbr FROM TO BYTES BIT_S                bytes and rate are those of the IP packets
//
// With "count" traces on every device count packet-hops and drops; with "time" none is connected.
// TCP is ns-3's NewReno with SACK and proportional rate reduction, as ns-3 runs it: without SACK
// its recovery is so much weaker that it would not do the same work.

#include "ns3/applications-module.h"
#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"
#include "ns3/traffic-control-module.h"

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

using namespace ns3;

namespace
{

// The frame's own header, which no other engine adds.
constexpr uint32_t PPP_BYTES = 2;
constexpr uint32_t UDP_AND_IP_BYTES = 28;

struct Count
{
    uint64_t packets = 0;
    uint64_t bytes = 0;
    uint64_t drops = 0;
    bool compared = false;
};

struct OneWay
{
    uint32_t from;
    uint32_t to;
    uint32_t interface;
    Ptr<PointToPointNetDevice> device;
    Count count;
};

void
Sent(Count* count, Ptr<const Packet> packet)
{
    count->packets++;
    count->bytes += packet->GetSize() - PPP_BYTES;
}

void
Dropped(Count* count, Ptr<const Packet>)
{
    count->drops++;
}

void
DroppedItem(Count* count, Ptr<const QueueDiscItem>)
{
    count->drops++;
}

void
SetSegmentSize(uint32_t bytes)
{
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(bytes));
}

// Node and interface, from 1 on, as 10.node.node.interface.
Ipv4Address
Address(uint32_t node, uint32_t interface)
{
    return Ipv4Address((10U << 24) | ((node + 1) << 8) | interface);
}

class Workload
{
  public:
    explicit Workload(bool counting)
        : m_counting(counting)
    {
    }

    void Read(std::istream& in)
    {
        std::string line;
        while (std::getline(in, line))
        {
            std::istringstream words(line);
            std::string what;
            words >> what;
            if (what == "nodes")
            {
                Nodes(words);
            }
            else if (what == "link")
            {
                Link(words);
            }
            else if (what == "red")
            {
                Red(words);
            }
            else if (what == "compare")
            {
                m_ways.back()->count.compared = true;
            }
            else if (what == "route")
            {
                Route(words);
            }
            else if (what == "tcp")
            {
                Tcp(words);
            }
            else if (what == "cbr")
            {
                Cbr(words);
            }
            if (words.fail())
            {
                std::cerr << "cannot read: " << line << "\n";
                std::exit(2);
            }
        }
    }

    void Print() const
    {
        uint64_t tcp = 0;
        double udp = 0;
        for (const auto& sink : m_tcp)
        {
            tcp += sink->GetTotalRx();
        }
        for (const auto& [sink, bytes] : m_udp)
        {
            udp += static_cast<double>(sink->GetTotalRx()) * bytes / (bytes - UDP_AND_IP_BYTES);
        }
        std::printf("tcp_bytes %llu\nudp_bytes %.0f\n", Long(tcp), udp);
        if (!m_counting)
        {
            return;
        }
        Count all;
        Count here;
        for (const auto* way : m_ways)
        {
            all.packets += way->count.packets;
            all.drops += way->count.drops;
            if (way->count.compared)
            {
                here.bytes += way->count.bytes;
                here.drops += way->count.drops;
            }
        }
        std::printf("packet_hops %llu\ndrops %llu\n", Long(all.packets), Long(all.drops));
        std::printf("bottleneck_bytes %llu\nbottleneck_drops %llu\n",
                    Long(here.bytes),
                    Long(here.drops));
    }

  private:
    static unsigned long long Long(uint64_t value)
    {
        return value;
    }

    void Nodes(std::istream& words)
    {
        uint32_t count;
        words >> count;
        m_nodes.Create(count);
        m_interfaces.assign(count, 0);
        InternetStackHelper stack;
        stack.SetIpv6StackInstall(false);
        stack.SetRoutingHelper(Ipv4StaticRoutingHelper());
        stack.Install(m_nodes);
    }

    // Two statements make one point-to-point link.
    void Link(std::istream& words)
    {
        uint32_t from;
        uint32_t to;
        uint64_t rate;
        int64_t delay;
        uint32_t packets;
        words >> from >> to >> rate >> delay >> packets;
        if (!m_backward)
        {
            PointToPointHelper helper;
            helper.SetChannelAttribute("Delay", TimeValue(NanoSeconds(delay)));
            m_pair = helper.Install(m_nodes.Get(from), m_nodes.Get(to));
        }
        auto* way = new OneWay;
        way->from = from;
        way->to = to;
        way->device = DynamicCast<PointToPointNetDevice>(m_pair.Get(m_backward ? 1 : 0));
        m_backward = !m_backward;
        way->device->SetDataRate(DataRate(rate));
        way->device->GetQueue()->SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, packets));
        auto ip = m_nodes.Get(from)->GetObject<Ipv4>();
        way->interface = ip->AddInterface(way->device);
        const auto address = Address(from, ++m_interfaces[from]);
        ip->AddAddress(way->interface, Ipv4InterfaceAddress(address, Ipv4Mask("/32")));
        ip->SetUp(way->interface);
        if (m_counting)
        {
            way->device->TraceConnectWithoutContext("PhyTxEnd", MakeBoundCallback(&Sent, &way->count));
            way->device->GetQueue()->TraceConnectWithoutContext(
                "Drop",
                MakeBoundCallback(&Dropped, &way->count));
            if (m_interfaces[from] == 1)
            {
                // A full device queue makes the node drop before it; which link it was is not told.
                m_nodes.Get(from)->GetObject<TrafficControlLayer>()->TraceConnectWithoutContext(
                    "TcDrop",
                    MakeBoundCallback(&Dropped, &way->count));
            }
        }
        m_ways.push_back(way);
    }

    void Red(std::istream& words)
    {
        double min;
        double max;
        double probability;
        double weight;
        uint32_t bytes;
        uint32_t packets;
        words >> min >> max >> probability >> weight >> bytes >> packets;
        auto* way = m_ways.back();
        DataRateValue rate;
        way->device->GetAttribute("DataRate", rate);
        TrafficControlHelper control;
        control.SetRootQueueDisc("ns3::RedQueueDisc",
                                 "MinTh",
                                 DoubleValue(min),
                                 "MaxTh",
                                 DoubleValue(max),
                                 "LInterm",
                                 DoubleValue(1 / probability),
                                 "QW",
                                 DoubleValue(weight),
                                 "Gentle",
                                 BooleanValue(false),
                                 "MeanPktSize",
                                 UintegerValue(bytes),
                                 "LinkBandwidth",
                                 rate,
                                 "MaxSize",
                                 QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, packets)));
        // The packets wait in the discipline, not in the device.
        way->device->GetQueue()->SetMaxSize(QueueSize("1p"));
        const auto discipline = control.Install(way->device).Get(0);
        if (m_counting)
        {
            discipline->TraceConnectWithoutContext("Drop",
                                                   MakeBoundCallback(&DroppedItem, &way->count));
        }
    }

    void Route(std::istream& words)
    {
        uint32_t node;
        uint32_t destination;
        uint32_t next;
        words >> node >> destination >> next;
        for (const auto* way : m_ways)
        {
            if (way->from == node && way->to == next)
            {
                auto ip = m_nodes.Get(node)->GetObject<Ipv4>();
                m_routing.GetStaticRouting(ip)->AddNetworkRouteTo(Address(destination, 0),
                                                                  Ipv4Mask("/24"),
                                                                  way->interface);
                return;
            }
        }
        words.setstate(std::ios::failbit);
    }

    ApplicationContainer Sink(const char* protocol, uint32_t node)
    {
        const InetSocketAddress any(Ipv4Address::GetAny(), m_port);
        return PacketSinkHelper(protocol, any).Install(m_nodes.Get(node));
    }

    void Tcp(std::istream& words)
    {
        const char* protocol = "ns3::TcpSocketFactory";
        uint32_t from;
        uint32_t to;
        uint32_t mss;
        int64_t start;
        words >> from >> to >> mss >> start;
        // A socket takes its segment size from the default at the moment it is made.
        Simulator::Schedule(NanoSeconds(start), &SetSegmentSize, mss);
        BulkSendHelper source(protocol, InetSocketAddress(Address(to, 1), m_port));
        source.SetAttribute("SendSize", UintegerValue(mss));
        source.Install(m_nodes.Get(from)).Start(NanoSeconds(start));
        m_tcp.push_back(DynamicCast<PacketSink>(Sink(protocol, to).Get(0)));
        m_port++;
    }

    void Cbr(std::istream& words)
    {
        const char* protocol = "ns3::UdpSocketFactory";
        uint32_t from;
        uint32_t to;
        uint32_t bytes;
        uint64_t rate;
        words >> from >> to >> bytes >> rate;
        const uint32_t payload = bytes - UDP_AND_IP_BYTES;
        OnOffHelper source(protocol, InetSocketAddress(Address(to, 1), m_port));
        source.SetConstantRate(DataRate(rate * payload / bytes), payload);
        source.Install(m_nodes.Get(from)).Start(Seconds(0));
        m_udp.emplace_back(DynamicCast<PacketSink>(Sink(protocol, to).Get(0)), bytes);
        m_port++;
    }

    bool m_counting;
    bool m_backward = false;
    NodeContainer m_nodes;
    NetDeviceContainer m_pair;
    std::vector<uint32_t> m_interfaces;
    std::vector<OneWay*> m_ways;
    std::vector<Ptr<PacketSink>> m_tcp;
    std::vector<std::pair<Ptr<PacketSink>, uint32_t>> m_udp;
    Ipv4StaticRoutingHelper m_routing;
    uint16_t m_port = 1000;
};

void
SetDefaults()
{
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(MilliSeconds(200)));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(false));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(1));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(2));
    // Enough that it never holds a flow back; more makes ns-3 slower still.
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(1 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 23));
}

} // namespace

int
main(int argc, char** argv)
{
    if (argc != 4)
    {
        std::cerr << "usage: " << argv[0] << " WORKLOAD SECONDS time|count\n";
        return 2;
    }
    std::ifstream file(argv[1]);
    if (!file)
    {
        std::cerr << argv[1] << " cannot be read\n";
        return 2;
    }
    SetDefaults();
    Workload workload(std::string(argv[3]) == "count");
    workload.Read(file);
    Simulator::Stop(Seconds(std::stod(argv[2])));
    Simulator::Run();
    workload.Print();
    std::fflush(stdout);
    // Taking thousands of objects apart is no part of a simulation.
    _exit(0);
}
