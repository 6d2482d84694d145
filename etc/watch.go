package etc

import _ "embed"

// Alerts are rules for Prometheus on sluiced's metrics.
//
//go:embed prometheus-alerts.yml
var Alerts []byte
