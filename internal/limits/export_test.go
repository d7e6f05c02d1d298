package limits

// SetMost lets fewer addresses have a counter of their own.
func (a *Addresses) SetMost(n int64) { a.most = n }

// Held returns how many tenants' counters are held.
func (m *Memory) Held() (held int) {
	for i := range m.shards {
		held += len(m.shards[i].counters)
	}
	return held
}
