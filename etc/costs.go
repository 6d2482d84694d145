package etc

import (
	"math"
	"strconv"
	"strings"
)

// Welfare holds the costs for the policy welfare, in one currency.
type Welfare struct {
	Value, GPU, CPU, Memory float64 // per hour; Memory per GB
	Types                   []TypeCost
	Peak, Surcharge         float64
}

// TypeCost is the cost of one GPU of a type for one hour.
type TypeCost struct {
	Type string
	Cost float64
}

// dearest bounds the cost of anything for one hour.
const dearest = 1e6

// typeCosts makes a key whose value is a list of types with their costs.
func typeCosts(section, name string, at func(*Config) *[]TypeCost) key {
	want := `a list of "type=cost", each type once, costs from 0 to 1e+06`
	return entry(section, name, want, at, readTypeCosts, func(list []TypeCost) string {
		quoted := make([]string, len(list))
		for i, t := range list {
			quoted[i] = quote(t.Type + "=" + strconv.FormatFloat(t.Cost, 'g', -1, 64))
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	})
}

func readTypeCosts(raw any) ([]TypeCost, bool) {
	list, ok := raw.([]any)
	if !ok || len(list) > 1000 {
		return nil, false
	}
	seen := map[string]bool{}
	out := make([]TypeCost, len(list))
	for i, item := range list {
		s, _ := item.(string)
		kind, cost, _ := strings.Cut(s, "=")
		x, err := strconv.ParseFloat(cost, 64)
		if kind == "" || len(kind) > 255 || !printable(kind) || strings.ContainsAny(kind, " ,:+") || seen[kind] ||
			err != nil || math.IsNaN(x) || x < 0 || x > dearest {
			return nil, false
		}
		seen[kind] = true
		out[i] = TypeCost{kind, x}
	}
	return out, true
}
