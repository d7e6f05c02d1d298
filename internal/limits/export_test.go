package limits

const MaxAddresses = maxAddresses

// Held returns how many tenants' counters are held.
func (m *Memory) Held() (held int) {
	for i := range m.shards {
		held += len(m.shards[i].counters)
	}
	return held
}
