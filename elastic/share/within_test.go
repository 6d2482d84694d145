package share

// Within reports whether the account is the other one, or a part of it at any depth.
func (t *Tree) Within(account, other string) bool {
	i, ok := t.at[account]
	for ok && i >= 0 {
		if t.accounts[i].name == other {
			return true
		}
		i = t.accounts[i].parent
	}
	return false
}
