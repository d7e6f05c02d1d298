// Package alerts tests what operators see. A real Prometheus scrapes two servers with the
// configuration of deploy/prometheus. The tests make faults, and each alert must fire and end. On
// Linux, Debian's exporters run beside a Postgres with a standby, Redis and nginx; make soak makes
// all the faults that the exporters see. Other tests compare docs/metrics.md with the metrics of
// these servers, the runbooks with the alerts, and the dashboard with both.
//
// Durations of alerts.yml are divided by 60 here, so that a minute takes a second. promtool tests
// alerts that take hours, with the original file (rules_test.yml).
package alerts
