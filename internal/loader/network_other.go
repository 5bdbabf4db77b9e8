//go:build !linux

package loader

// openCrowd returns the crowd for a server.
func openCrowd(o Options) (crowd, error) { return openSeparate(o.Server, o.Clients) }
