package observe

// Accounts returns the uids of users.
type Accounts interface {
	// Account returns a user's uid. It MUST NOT block: a user that was not looked up yet is not OK,
	// and a later call returns the answer.
	Account(name string) Account
}

// Account is a user as the site's directory knows it.
type Account struct {
	UID uint32
	OK  bool // there is such a user; false = there is none, or it is not known yet
}

// Named returns the accounts of these users, by name.
func (o *Observer) Named(names ...string) map[string]Account {
	if o.Accounts == nil || len(names) == 0 {
		return nil
	}
	out := make(map[string]Account, len(names))
	for _, name := range names {
		if _, read := out[name]; !read {
			out[name] = o.Accounts.Account(name)
		}
	}
	return out
}
