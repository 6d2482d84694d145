package etc

import (
	"fmt"
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

// treeMistake is what is wrong with a key of an account in view of the other accounts.
type treeMistake struct{ account, key, text string }

// treeMistakes returns what keeps the accounts from being a tree in which each user has one account
// by default.
func treeMistakes(all map[string]Share) []treeMistake {
	names := slices.Sorted(maps.Keys(all))
	var out []treeMistake
	add := func(account, key, format string, args ...any) {
		out = append(out, treeMistake{account, key, fmt.Sprintf(format, args...)})
	}
	lower := map[string]string{}
	for _, name := range names {
		s := all[name]
		if _, known := all[s.Parent]; s.Parent != "" && !known {
			add(name, "parent", "parent = %s: there is no [shares.%s]", quote(s.Parent), s.Parent)
		}
		if circle := circleFrom(all, name); circle != nil && slices.Min(circle) == name { // told once
			add(name, "parent", "parent = %s: the accounts are parts of each other in a circle: %s", quote(s.Parent), strings.Join(append(circle, name), " in "))
		}
		for _, user := range s.Default {
			if _, listed := s.Users[user]; !listed {
				add(name, "default", "default: %s is not one of the users of [shares.%s]", user, name)
			}
		}
		if other, twice := lower[strings.ToLower(name)]; twice {
			add(name, "", "[shares.%s] and [shares.%s] are the same account: Slurm has accounts in lower case", other, name)
		}
		lower[strings.ToLower(name)] = name
	}
	return append(out, twoAccounts(all, names)...)
}

// circleFrom returns the accounts from this one up, if they lead back to it.
func circleFrom(all map[string]Share, name string) []string {
	path := []string{name}
	for up := all[name].Parent; up != "" && len(path) <= len(all); up = all[up].Parent {
		if up == name {
			return path
		}
		path = append(path, up)
	}
	return nil
}

// twoAccounts returns the users of several accounts that are not a default user of exactly one.
func twoAccounts(all map[string]Share, names []string) (out []treeMistake) {
	in, by := map[string][]string{}, map[string][]string{}
	for _, name := range names {
		for user := range all[name].Users {
			in[user] = append(in[user], name)
		}
		for _, user := range all[name].Default {
			by[user] = append(by[user], name)
		}
	}
	for _, user := range slices.Sorted(maps.Keys(in)) {
		switch of, byDefault := in[user], by[user]; {
		case len(byDefault) > 1:
			out = append(out, treeMistake{byDefault[1], "default", fmt.Sprintf("default: %s is a default user of [shares.%s] already", user, byDefault[0])})
		case len(of) > 1 && len(byDefault) == 0:
			out = append(out, treeMistake{of[1], "users", fmt.Sprintf("users: %s is a user of [shares.%s], too: write default = [%s] in one of them", user, of[0], quote(user))})
		}
	}
	return out
}
