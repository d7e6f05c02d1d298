package usage

import "context"

// UsedUp has Run tell the store of a refusal until it knows. It does no I/O.
func (m *Meter) UsedUp(r Refusal) {
	s := m.shards.of(r.TenantID)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.refusals[r]; !ok {
		s.refusals[r] = false
	}
}

// tellRefusals tells the store of refusals that it does not know. What fails is told at the next call.
func (m *Meter) tellRefusals(ctx context.Context) {
	now := m.clock().Unix()
	var news []Refusal
	for i := range m.shards {
		news = m.shards[i].untold(news, now)
	}
	if len(news) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if err := m.store.TellRefusals(ctx, news); err != nil {
		m.log.Warn().Err(err).Msg("tell webhooks that limits are used up")
		return
	}
	for _, r := range news {
		s := m.shards.of(r.TenantID)
		s.mu.Lock()
		s.refusals[r] = true
		s.mu.Unlock()
	}
}

// untold appends what the store does not know, and forgets what it knows of windows that have ended.
func (s *shard) untold(news []Refusal, now int64) []Refusal {
	s.mu.Lock()
	defer s.mu.Unlock()
	for r, told := range s.refusals {
		switch {
		case !told:
			news = append(news, r)
		case r.Reset <= now:
			delete(s.refusals, r)
		}
	}
	return news
}
