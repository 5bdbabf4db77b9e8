//go:build !linux

package loader

// openSockets opens a socket for each client.
func openSockets(o Options) (sockets, error) { return openSeparate(o.Server, o.Clients) }
