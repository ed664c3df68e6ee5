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
