package message

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode"
)

// MaxURL bounds the bytes of a URL that messages are posted to.
const MaxURL = 2000

// CheckURL returns why messages cannot be posted to a URL, whoever names it: it is https, with a host, without
// a user, a password and a fragment, and on one line. Which hosts are allowed is the site's to say.
func CheckURL(text string) error {
	if len(text) > MaxURL {
		return fmt.Errorf("the URL has %d bytes, at most %d are possible", len(text), MaxURL)
	}
	u, err := url.Parse(text)
	unfit := func(r rune) bool { return r == ' ' || r == unicode.ReplacementChar || unicode.IsControl(r) }
	switch {
	case err != nil || u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "" || strings.ContainsFunc(text, unfit):
		return errors.New("want a URL that begins with https://HOST/")
	case u.User != nil || strings.Contains(text, "#"): // also one with nothing behind it
		return errors.New("want a URL without a user and without #")
	}
	return nil
}
