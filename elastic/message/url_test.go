package message

import (
	"strings"
	"testing"
)

func TestCheckURL(t *testing.T) {
	for url, want := range map[string]string{
		"https://h/": "", "HTTPS://h.example.org:8443/a?b=c,d": "", "https://[::1]:9": "", "https://h/" + strings.Repeat("x", MaxURL-10): "",
		"": "https://HOST/", "http://h/": "https://HOST/", "https://": "https://HOST/", "https:///a": "https://HOST/", "https:h": "https://HOST/", "file:///etc/passwd": "https://HOST/",
		"https://h/\n": "https://HOST/", "https://h/a b": "https://HOST/", "https://h/\u0085": "https://HOST/", "https://h/\xff": "https://HOST/", "https://h\\@evil.org/": "https://HOST/",
		"https://u:p@h/": "without a user", "https://u@h/": "without a user", "https://h/#x": "without #", "https://h/#": "without #", "https://h/" + strings.Repeat("x", MaxURL): "at most 2000",
	} {
		if err := CheckURL(url); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", url, err, want)
		}
	}
}
