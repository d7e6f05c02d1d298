package api

import (
	"time"

	"petstore.example/internal/usage"
)

// A month in the response of GET /v1/usage.
type (
	usageMonth struct {
		Admitted int64      `json:"admitted"`
		Refused  int64      `json:"refused"`
		Included *int64     `json:"included"`
		Overage  int64      `json:"overage"`
		Days     []usageDay `json:"days"`
		// Only reports have these; only some reports have Keys.
		Month       string            `json:"month,omitzero"`
		Corrections []usageCorrection `json:"corrections,omitzero"`
		Keys        []usageOfKey      `json:"keys,omitzero"`
	}
	usageCorrection struct {
		Month    string `json:"month"`
		Admitted int64  `json:"admitted"`
		Refused  int64  `json:"refused"`
	}
	usageOfKey struct {
		ID       string     `json:"id"`
		Name     string     `json:"name"`
		Admitted int64      `json:"admitted"`
		Refused  int64      `json:"refused"`
		Days     []usageDay `json:"days"`
	}
	usageDay struct {
		Date     string `json:"date"`
		Admitted int64  `json:"admitted"`
		Refused  int64  `json:"refused"`
	}
)

func monthOf(m usage.Month) usageMonth {
	admitted, refused := m.Sum()
	days := make([]usageDay, len(m.Days))
	for i, d := range m.Days {
		days[i] = usageDay{d.Date.Format(time.DateOnly), d.Admitted, d.Refused}
	}
	month := usageMonth{Admitted: admitted, Refused: refused, Overage: m.Overage(), Days: days}
	if included, ok := m.Included(); ok {
		month.Included = &included
	}
	return month
}
