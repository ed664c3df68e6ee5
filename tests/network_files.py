"""Small files of published networks, one for each format, as several tests read them."""

SNDLIB_XML = """\
<?xml version="1.0" encoding="ISO-8859-1"?>
<network xmlns="http://sndlib.zib.de/network" version="1.0">
 <meta><granularity>1</granularity><unit>MBITPERSEC</unit></meta>
 <networkStructure>
  <nodes coordinatesType="geographical">
   <node id="A"><coordinates><x>0.0</x><y>0.0</y></coordinates></node>
   <node id="B.1"><coordinates><x>1.0</x><y>0.0</y></coordinates></node>
   <node id="C"><coordinates><x>0.0</x><y>1.0</y></coordinates></node>
  </nodes>
  <links>
   <link id="L1"><source>A</source><target>B.1</target>
    <preInstalledModule><capacity>622.0</capacity><cost>0</cost></preInstalledModule></link>
   <link id="L2"><source>B.1</source><target>C</target>
    <additionalModules><addModule><capacity>155.0</capacity><cost>1</cost></addModule>
     <addModule><capacity>622.0</capacity><cost>3</cost></addModule></additionalModules></link>
   <link id="L3"><source>A</source><target>B.1</target>
    <preInstalledModule><capacity>622.0</capacity><cost>0</cost></preInstalledModule></link>
  </links>
 </networkStructure>
 <demands>
  <demand id="D1"><source>A</source><target>C</target><routingUnit>2</routingUnit>
   <demandValue>5.5</demandValue></demand>
  <demand id="D2"><source>A</source><target>A</target><demandValue>7</demandValue></demand>
  <demand id="D3"><source>C</source><target>A</target><demandValue>0</demandValue></demand>
 </demands>
</network>
"""

SNDLIB_NATIVE = """\
?SNDlib native format; type: network; version: 1.0
# network small
META (
  granularity = 1
  unit = MBITPERSEC
)
NODES (
  A ( 0.0 0.0 )
  B.1 ( 1.0 0.0 )
  C ( 0.0 1.0 )
)
# <link_id> ( <source> <target> ) <capacity> <cost> <cost> <cost> ( {<capacity> <cost>}* )
LINKS (
  L1 ( A B.1 ) 622.00 0.00 0.00 0.00 ( )
  L2 ( B.1 C ) 0.00 0.00 0.00 0.00 ( 155.00 1.00 622.00 3.00 )
  L3 ( A B.1 ) 622.00 0.00 0.00 0.00 ( )
)
DEMANDS (
  D1 ( A C ) 2 5.50 UNLIMITED
  D2 ( A A ) 1 7.00 UNLIMITED
  D3 ( C A ) 1 0.00 UNLIMITED
)
"""

GML = """\
graph [
  directed 0
  Network "Small"
  node [ id 0 label "London" Longitude -0.1 Latitude 51.5 Internal 1 ]
  node [ id 3 label "London" Longitude 0.0 Latitude 51.5 Internal 1 ]
  node [ id 7 label "New York" Internal 0 ]
  edge [ source 0 target 3 LinkSpeedRaw 10000000000.0 ]
  edge [ source 3 target 7 ]
  edge [ source 0 target 3 LinkSpeedRaw 10000000000.0 ]
]
"""

GRAPHML = """\
<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key attr.name="label" attr.type="string" for="node" id="d1" />
  <key attr.name="Longitude" attr.type="double" for="node" id="d2" />
  <key attr.name="Latitude" attr.type="double" for="node" id="d3" />
  <key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="d4" />
  <graph edgedefault="undirected">
    <node id="0"><data key="d1">Paris</data>
      <data key="d2">2.35</data><data key="d3">48.85</data></node>
    <node id="5"><data key="d1">Zürich</data>
      <data key="d2">8.54</data><data key="d3">47.37</data></node>
    <edge source="0" target="5"><data key="d4">2500000000.0</data></edge>
  </graph>
</graphml>
"""

REPETITA = """\
NODES 3
label x y
R1 10.0 50.0
R2 11.0 50.0
R3 12.0 51.0

EDGES 4
label src dest weight bw delay
edge_0 0 1 10 1000000 2000
edge_1 1 0 20 500000 2000
edge_2 1 2 1 1000000 500
edge_3 2 1 1 1000000 500
"""

REPETITA_DEMANDS = "DEMANDS 2\nlabel src dest bw\nd0 0 2 300000\nd1 2 0 100\n"

CONTAINERLAB = """\
name: lab
topology:
  nodes:
    srl1: {kind: nokia_srlinux}
    srl2: {kind: nokia_srlinux}
  links:
    - endpoints: ["srl1:e1-1", "srl2:e1-1"]
    - type: veth
      endpoints:
        - {node: srl1, interface: e1-2}
        - {node: srl2, interface: e1-2}
    - endpoints: ["srl1:e1-9", "host:veth9"]
"""

NETLAB = """\
name: ring
nodes: [r1, r2, pe-1]
links:
- r1-r2
- r2-pe-1
- r1: {ipv4: 10.0.0.1/30}
  pe-1:
  bandwidth: 100000
- interfaces: [{node: r1}, {node: r2}]
- r1:
"""

BRITE = """\
Topology: ( 3 Nodes, 2 Edges )
Model (1 - RTWaxman):  3 100 100 1  2  0.15 0.2 1 1 10.0 1024.0

Nodes: ( 3 )
0\t10.00\t20.00\t1\t1\t-1\tRT_NODE
1\t30.00\t20.00\t2\t2\t-1\tRT_NODE
2\t50.00\t20.00\t1\t1\t-1\tRT_NODE

Edges: ( 2 )
0\t0\t1\t20.0\t0.067\t10.0\t-1\t-1\tE_RT\tU
1\t1\t2\t20.0\t0.067\t-1.0\t-1\t-1\tE_RT\tU\tnews
"""

CCH = """\
1 @Paris,+France + bb (2) &1 -> <2> <3> {-7} =r1.example.net! r0
2 @Lyon,+France (2) -> <1> <3>  =r2.example.net r1
3 @Nice,+France (3) -> <2> <1> <99> =r3.example.net r1
-7 =10.0.0.1 rn
"""

PYNTM = """\
INTERFACES_TABLE
node_object_name\tremote_node_object_name\tname\tcost\tcapacity\trsvp_enabled
A\tB\tA-to-B\t4\t100\tTrue
B\tA\tB-to-A\t5\t100\tTrue

NODES_TABLE
name\tlon\tlat
A\t10\t50
B\t11\t50

DEMANDS_TABLE
source\tdest\ttraffic\tname
A\tB\t80\tdmd

RSVP_LSP_TABLE
source\tdest\tname
A\tB\tlsp
"""

LINK_LIST = """\
a,a_if,b,b_if,capacity,delay_ms,srlg,igp_metric
AMS,et-0/0/1,FRA,et-0/0/2,100G,4.1,duct1,10
AMS,et-0/0/2,PAR,et-0/0/1,2x10GE,5.0,duct2,2.5
FRA,et-0/0/3,ZRH,et-0/0/1,STM-16,3.2,,7
"""

EDGE_LIST = "# a comment\n1|2|-1\n1|3|0\n2|3|-1\n"

NODE_LINK = """\
{"directed": false, "graph": {"name": "small"}, "nodes": [{"id": 1}, {"id": "b", "lat": 50.5}],
 "links": [{"source": 1, "target": "b", "bandwidth": 40, "weight": 2.5, "delay": 3}]}
"""

YED = """\
<graphml xmlns="http://graphml.graphdrawing.org/xmlns" xmlns:y="http://www.yworks.com/xml/graphml">
  <key for="node" id="d0" yfiles.type="nodegraphics"/>
  <key for="edge" id="d1" attr.name="capacity" attr.type="string"><default>10G</default></key>
  <graph edgedefault="directed">
    <node id="n0"><data key="d0"><y:ShapeNode><y:NodeLabel>A</y:NodeLabel></y:ShapeNode></data>
    </node>
    <node id="n1"><graph edgedefault="directed"><node id="n1::n0"/></graph></node>
    <edge source="n0" target="n1::n0"><data key="d1">2.5 Gbit/s</data></edge>
    <edge source="n1::n0" target="n0"/>
  </graph>
</graphml>
"""
