package etc

import (
	"strings"
	"testing"
)

// TestAllows: users' messages go to the hosts of the list and their ports only.
func TestAllows(t *testing.T) {
	for hook, fine := range map[string]bool{
		"https://hooks.example.org/a": true, "https://HOOKS.example.org:443/a?b": true, "https://b.example.org:8443/": true, "https://[::1]:9/": true,
		"https://hooks.example.org:8443/a": false, "https://b.example.org/": false, "https://evil.example.org/hooks.example.org": false,
		"https://hooks.example.org.evil.org/": false, "https://hooks.example.org@evil.org/": false, "https://evil.org#hooks.example.org": false,
		"http://hooks.example.org/a": false, "https://127.0.0.1/": false, "https://localhost/": false, "https://[::1]/": false, "": false, "https://": false, "https://hooks.example.org\\@evil.org/": false,
	} {
		n := Notify{Hosts: []string{"hooks.example.org", "B.example.org:8443", "[::1]:9"}}
		if err := n.Allows(hook); (err == nil) != fine {
			t.Errorf("%s: %v", hook, err)
		}
		if err := (Notify{}).Allows(hook); err == nil || strings.Contains(hook, "evil") && strings.Contains(err.Error(), "\n") {
			t.Errorf("%s without a list: %v", hook, err)
		}
	}
}
