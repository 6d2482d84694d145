package etc

import "strconv"

// QOS is a site's settings for the jobs of one of Slurm's QOS, where GPUs are divided by shares.
type QOS struct {
	Weight    float64 // among the jobs of the same user; 0 = 1
	Scavenger bool    // they get what no other job wants
	Guarantee int     // GPUs that they deserve together before shares count
}

// Bounds of a weight that is not 0, and the largest guarantee.
const (
	leastWeight   = 0.001
	mostWeight    = 1000.0
	mostGuarantee = 1_000_000
)

// ofQOS are the sections [qos.NAME].
var ofQOS = named[QOS]{
	kind: "qos", what: "QOS", in: func(c *Config) *map[string]QOS { return &c.QOS },
	keys: []namedKey[QOS]{
		{"weight", "a number from 0.001 to 1000", func(q *QOS, raw any) bool {
			f, ok := raw.(float64)
			if n, isWhole := raw.(int64); isWhole {
				f, ok = float64(n), true
			}
			if !ok || !(f >= leastWeight && f <= mostWeight) {
				return false
			}
			q.Weight = f
			return true
		}, func(q QOS) string {
			if q.Weight == 0 {
				return "1.0"
			}
			return writeFloat(q.Weight)
		}},
		{"scavenger", "true or false", func(q *QOS, raw any) bool {
			is, ok := raw.(bool)
			q.Scavenger = is
			return ok
		}, func(q QOS) string { return strconv.FormatBool(q.Scavenger) }},
		{"guarantee", "a whole number from 0 to 1000000", func(q *QOS, raw any) bool {
			n, ok := raw.(int64)
			if !ok || n < 0 || n > mostGuarantee {
				return false
			}
			q.Guarantee = int(n)
			return true
		}, func(q QOS) string { return strconv.Itoa(q.Guarantee) }},
	},
}
