package etc

import (
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sluice-hpc/sluice/elastic/message"
)

// NotifyEvents are the allowed values of [notify] events: the kinds of messages.
var NotifyEvents = []string{"start", "end", "failure", "deadline", "digest", "unfit", "blind"}

// words makes a key whose value is a command: an absolute path and its arguments, or an empty list.
func words(section, name string, at func(*Config) *[]string) key {
	return entry(section, name, "a list of words, the first an absolute path; or []", at, func(raw any) ([]string, bool) {
		list, ok := texts(raw, 100)
		return list, ok && (len(list) == 0 || absolute(list[0]))
	}, quoteAll)
}

// choices makes a key whose value is a list of some of the words.
func choices(section, name string, of []string, at func(*Config) *[]string) key {
	quoted := quoteAll(of)
	return entry(section, name, "a list of some of "+quoted[1:len(quoted)-1], at, func(raw any) ([]string, bool) {
		list, ok := texts(raw, len(of))
		for i, s := range list {
			ok = ok && slices.Contains(of, s) && !slices.Contains(list[:i], s)
		}
		return list, ok
	}, quoteAll)
}

// texts reads a list of at most most printable strings.
func texts(raw any, most int) ([]string, bool) {
	list, ok := raw.([]any)
	if !ok || len(list) > most {
		return nil, false
	}
	out := make([]string, len(list))
	for i, item := range list {
		s, isText := item.(string)
		if !isText || len(s) > 4096 || !printable(s) {
			return nil, false
		}
		out[i] = s
	}
	return out, true
}

// isListen accepts what isAddress does, and paths of sockets.
func isListen(s string) bool {
	return isAddress(s) || filepath.IsAbs(s) && absolute(s) && len(s) <= 100
}

// Allows returns why messages may not be posted to a URL of a user's; nil if they may. A host counts with
// its port: one without a port in the list is that host's port 443.
func (n Notify) Allows(hook string) error {
	if err := message.CheckURL(hook); err != nil {
		return err
	}
	u, err := url.Parse(hook)
	if err != nil {
		return err
	}
	host := withPort(u.Host)
	for _, allowed := range n.Hosts {
		if withPort(allowed) == host {
			return nil
		}
	}
	known := "none is"
	if len(n.Hosts) > 0 {
		known = strings.Join(n.Hosts, ", ") + " are"
	}
	return fmt.Errorf("messages are not posted to %s: %s allowed ([notify] hosts in sluice.toml); ask your administrators", clean(u.Host), known)
}

// withPort returns a host in lower case with its port.
func withPort(host string) string {
	host = strings.ToLower(host)
	if _, _, err := net.SplitHostPort(host); err != nil {
		host += ":443"
	}
	return host
}
