// Package seats bounds the open connections of a daemon: of each client and in all. A client that connects and says nothing takes
// no place from another.
package seats
