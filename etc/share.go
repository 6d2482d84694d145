package etc

import (
	"maps"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// Share is one account of the site's own tree of shares.
type Share struct {
	Shares float64 // among its siblings; 0 = 1
	Parent string  // the account that it is a part of; "" = none
	// Users are those whose jobs count in it, with what they count there among each other.
	Users map[string]float64
	// Default are those of them whose jobs count in it unless they name another account.
	Default []string
}

// Bounds of shares.
const (
	leastShares = 0.001
	mostShares  = 1 << 31
)

// ofShares are the sections [shares.NAME].
var ofShares = named[Share]{
	kind: "shares", what: "account", in: func(c *Config) *map[string]Share { return &c.Shares },
	keys: []namedKey[Share]{
		{"shares", "a number from 0.001 to 2147483648", func(s *Share, raw any) (ok bool) {
			s.Shares, ok = sharesIn(raw)
			return ok
		}, func(s Share) string { return writeFloat(s.Count()) }},
		{"parent", "the name of an account", func(s *Share, raw any) bool {
			name, ok := raw.(string)
			s.Parent = name
			return ok && (name == "" || slurmName().MatchString(name))
		}, func(s Share) string { return quote(s.Parent) }},
		{"users", "a list of users, each once, or a table of USER = SHARES", func(s *Share, raw any) (ok bool) {
			s.Users, ok = usersIn(raw)
			return ok
		}, writeUsers},
		{"default", "a list of users, each once", func(s *Share, raw any) bool {
			users, ok := usersIn(raw)
			s.Default = slices.Sorted(maps.Keys(users))
			_, isList := raw.([]any)
			return ok && isList
		}, func(s Share) string { return quoteAll(s.Default) }},
	},
}

// Count returns the account's shares among its siblings.
func (s Share) Count() float64 {
	if s.Shares == 0 {
		return 1
	}
	return s.Shares
}

func sharesIn(raw any) (float64, bool) {
	f, ok := raw.(float64)
	if n, isWhole := raw.(int64); isWhole {
		f, ok = float64(n), true
	}
	return f, ok && f >= leastShares && f <= mostShares // false for NaN too
}

// usersIn reads a list of users, who have one share each, or a table of users with their shares.
func usersIn(raw any) (map[string]float64, bool) {
	out := map[string]float64{}
	switch users := raw.(type) {
	case []any:
		for _, item := range users {
			name, isText := item.(string)
			if _, twice := out[name]; !isText || twice || !isUser(name) {
				return nil, false
			}
			out[name] = 1
		}
	case map[string]any:
		for name, item := range users {
			n, ok := sharesIn(item)
			if !ok || !isUser(name) {
				return nil, false
			}
			out[name] = n
		}
	default:
		return nil, false
	}
	if len(out) == 0 {
		return nil, true
	}
	return out, true
}

func isUser(name string) bool { return isAccount(name) && printable(name) }

// writeUsers writes what usersIn reads.
func writeUsers(s Share) string {
	names, plain := slices.Sorted(maps.Keys(s.Users)), true
	items := make([]string, len(names))
	for i, name := range names {
		plain = plain && s.Users[name] == 1
		items[i] = quote(name) + " = " + writeFloat(s.Users[name])
	}
	if plain {
		return quoteAll(names)
	}
	return "{" + strings.Join(items, ", ") + "}"
}

func quoteAll(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = quote(s)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// readShares reads the sections [shares.NAME] and checks that they are a tree.
func readShares(c *Config, meta *toml.MetaData, file string, raw toml.Primitive) []*Mistake {
	if wrong := ofShares.read(c, meta, file, raw); len(wrong) > 0 {
		return wrong
	}
	var wrong []*Mistake
	for _, m := range treeMistakes(c.Shares) {
		wrong = append(wrong, locate(meta, file, keyOf(meta, raw, m.account, m.key), m.text))
	}
	return wrong
}

// keyOf returns the key of an account's section, or the section if it does not have the key.
func keyOf(meta *toml.MetaData, raw toml.Primitive, account, key string) toml.Primitive {
	var sections, keys map[string]toml.Primitive
	if meta.PrimitiveDecode(raw, &sections) != nil {
		return raw
	}
	at, there := sections[account]
	if !there {
		return raw
	}
	if meta.PrimitiveDecode(at, &keys) == nil {
		if k, is := keys[key]; is {
			return k
		}
	}
	return at
}
