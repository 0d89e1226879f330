"""What tests of several folders share: stores, servers, clients, clocks."""
