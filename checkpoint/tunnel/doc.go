// Package tunnel carries IP packets between the fences of one job on several nodes. In each fence
// is a network device; its other end is a file that a process outside holds. The relays of the
// nodes are connected by TLS, each with each; only who has the key of the run gets in. A packet
// passes only from the node's own address to that of another node of the run.
package tunnel
