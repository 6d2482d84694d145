package etc

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

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
