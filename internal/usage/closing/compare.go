package closing

import "fmt"

// key identifies a line among those of a tenant in a month.
type key struct {
	corrects            string
	void                bool
	assignment, version int64
}

func (l *Line) key() key { return key{l.Corrects, l.Void, l.Assignment, l.Version} }

// name is the line in words.
func (l *Line) name() string {
	what := "the line"
	switch {
	case l.Void:
		what = "the void line of " + l.Corrects
	case l.Corrects != "":
		what = "the correction of " + l.Corrects
	}
	return fmt.Sprintf("%s of tenant %d (%s) for assignment %d, version %d of plan %s", what, l.TenantID, l.Tenant, l.Assignment, l.Version, l.Plan)
}

// Compare returns the first difference between the lines of a tenant as they were sealed and as they are computed now, as a sentence; ""
// for none. The tenant may have another name.
func Compare(sealed, now []Line) string {
	current := make(map[key]*Line, len(now))
	for i := range now {
		current[now[i].key()] = &now[i]
	}
	for i := range sealed {
		l := &sealed[i]
		other, ok := current[l.key()]
		if !ok {
			return fmt.Sprintf("%s is sealed, but what it counts is no longer recorded: see %s and tenant_plans", l.name(), l.usageTable())
		}
		delete(current, l.key())
		if text := l.difference(other); text != "" {
			return l.name() + ": " + text
		}
	}
	for i := range now {
		if l := &now[i]; current[l.key()] != nil {
			return fmt.Sprintf("%s is not sealed, but is recorded: see %s and tenant_plans", l.name(), l.usageTable())
		}
	}
	return ""
}

// difference returns which member of the sealed line is another now. A line whose hours are summed into days has no hash of them: it was
// compared before they were summed.
func (l *Line) difference(now *Line) string {
	for _, m := range members {
		was, is := m.value(l), m.value(now)
		byDay := now.Recorded == (Hash{})
		if was == is || m.name == "tenant" || m.name == "recorded_sha256" && byDay {
			continue
		}
		table := m.from
		if table == "usage_hourly" {
			table = l.usageTable()
			if byDay {
				table = "usage_daily"
			}
		}
		if m.name == "recorded_sha256" {
			return "the sums are right, but the hours or keys of the requests were changed in " + table
		}
		return fmt.Sprintf("%s was sealed as %s, and %s now makes it %s", m.name, text(was), table, text(is))
	}
	return ""
}

func text(v any) string {
	if v == nil {
		return "none"
	}
	return fmt.Sprint(v)
}

// usageTable is the table that has the counts of the line.
func (l *Line) usageTable() string {
	switch {
	case l.Void:
		return "usage_months, usage_lines"
	case l.Corrects != "":
		return "usage_late"
	}
	return "usage_hourly"
}
