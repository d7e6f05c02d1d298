package server

import (
	"fmt"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"petstore.example/internal/connlimit"
	"petstore.example/internal/server/config"
)

const (
	// adminConnections is the most connections that the admin address accepts.
	adminConnections = 32
	// reservedFiles is the number of file descriptors left for Postgres, Redis, files and
	// connections about to be closed.
	reservedFiles = 64
	// strangerTimeout is how long a connection without a valid key may be idle.
	strangerTimeout = 10 * time.Second
)

// limitConnections bounds the connections of the sockets, and returns the API's limits.
func (s *Sockets) limitConnections(cfg *config.Config, metrics prometheus.Registerer) (connlimit.Limits, error) {
	limits, err := connectionLimits(cfg, openFiles())
	if err != nil {
		return limits, err
	}
	api, admin := connlimit.Wrap(s.API, limits), connlimit.Wrap(s.Admin, connlimit.Limits{Total: adminConnections})
	s.API, s.Admin = api, admin
	metrics.MustRegister(connectionMetrics{"api": api, "admin": admin})
	return limits, nil
}

// openFiles returns how many files this process may open, 0 if that can't be read. The Go runtime
// has raised the limit to the hard limit.
func openFiles() uint64 {
	var files syscall.Rlimit
	_ = syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files)
	return uint64(files.Cur) //nolint:unconvert // It is an int64 on some systems.
}

// connectionLimits returns the limits of the API's connections. files is how many the process may
// open.
func connectionLimits(c *config.Config, files uint64) (connlimit.Limits, error) {
	const reserved = adminConnections + reservedFiles
	if files < reserved+config.MinConnections {
		return connlimit.Limits{}, fmt.Errorf(
			"the limit of open files is %d: raise it to at least %d (ulimit -n, LimitNOFILE)",
			files,
			reserved+config.MinConnections,
		)
	}
	total := int(min(uint64(c.MaxConnections), files-reserved))
	limits := connlimit.Limits{
		Total:       total,
		PerAddress:  int(c.MaxConnectionsPerAddress),
		IdleTimeout: strangerTimeout,
		Unsent:      c.UnsentBytes,
	}
	if limits.PerAddress == 0 {
		limits.PerAddress = total / 4
	}
	for _, proxy := range c.TrustedProxies {
		network, err := config.ParseNetwork(proxy)
		if err != nil {
			return limits, fmt.Errorf("PETSTORE_TRUSTED_PROXIES contains %q: %w", proxy, err)
		}
		limits.Trusted = append(limits.Trusted, network)
	}
	return limits, nil
}

// connectionMetrics are the listeners with counted connections, by name.
type connectionMetrics map[string]*connlimit.Listener

var (
	connectionsOpen = prometheus.NewDesc(
		"petstore_connections",
		"Open connections by listener and state. A connection is authenticated once a request on it has had a valid "+
			"key, or if it is a trusted proxy's.",
		[]string{"listener", "state"},
		nil,
	)
	connectionsMost = prometheus.NewDesc("petstore_connections_max",
		"The most open connections by listener.", []string{"listener"}, nil)
	connectionsRefused = prometheus.NewDesc(
		"petstore_connections_refused_total",
		"New connections that were reset because a limit was reached, by listener and limit.",
		[]string{"listener", "reason"},
		nil,
	)
	connectionsClosed = prometheus.NewDesc(
		"petstore_connections_closed_total",
		"Connections that were closed: idle ones in favour of a new one because a limit was reached, or after 10 s "+
			"without a valid key, and those whose clients left too much unread.",
		[]string{"listener", "reason"},
		nil,
	)
)

// Describe implements prometheus.Collector.
func (m connectionMetrics) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(m, to) }

// Collect implements prometheus.Collector.
func (m connectionMetrics) Collect(to chan<- prometheus.Metric) {
	send := func(d *prometheus.Desc, t prometheus.ValueType, n int64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, t, float64(n), labels...)
	}
	for name, listener := range m {
		s := listener.Stats()
		send(connectionsOpen, prometheus.GaugeValue, s.Authenticated, name, "authenticated")
		send(connectionsOpen, prometheus.GaugeValue, s.Unauthenticated, name, "unauthenticated")
		send(connectionsMost, prometheus.GaugeValue, int64(listener.Most()), name)
		for reason, n := range s.Refused {
			send(connectionsRefused, prometheus.CounterValue, n, name, string(reason))
		}
		for reason, n := range s.Closed {
			send(connectionsClosed, prometheus.CounterValue, n, name, string(reason))
		}
	}
}
