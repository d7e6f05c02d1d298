package report

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// WriteTable writes the results for the terminal.
func (r *Report) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "case\trequests/s\t(min-max)\tratio\t(min-max)\tat least\tCPU µs\tat most\tp50 ms\tp99 ms\truns\t\t")
	for _, s := range r.Series {
		rps, ratio := s.RPS(), s.Ratio()
		fmt.Fprintf(t, "%s\t%.0f\t(%.0f-%.0f)\t%.3f\t(%.2f-%.2f)\t%s\t%.1f\t%s\t%.2f\t%.2f\t%d\t%s\t\n", s.Name, rps.Median, rps.Min, rps.Max,
			ratio.Median, ratio.Min, ratio.Max, given("%.2f", s.Goal.Ratio), s.CPU().Median, given("%.0f", s.Goal.CPU),
			s.P50().Median, s.P99().Median, len(s.Runs), s.Verdict())
	}
	fmt.Fprintln(t)
	for _, h := range r.HalfLoads {
		fmt.Fprintf(t, "%s at %.0f/s\t\tp99\t%.2f ms\tbare Gin\t%.2f ms\tratio\t%.2f\t\t\t%d\t%s\t\n", h.Case.Name, h.Rate,
			h.Case.P99().Median, h.Baseline.P99().Median, h.Ratio().Median, len(h.Case.Runs), h.Verdict())
	}
	for _, a := range r.Admissions {
		fmt.Fprintf(t, "key and limits, %s\t\tp50\t%.1f µs\tp99\t%.1f µs\tallocations\t%.0f\t\t\t%d\t%s\t\n", a.Name,
			a.Micros(a.P50), a.Micros(a.P99), a.Allocations, a.Samples, a.Verdict())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nother processes used %.0f %% of the machine (median of all runs; at most %.0f %%)\n",
		r.Others().Median, r.Others().Max)
	return err
}

// given formats a goal, or returns "" if it is 0.
func given(format string, goal float64) string {
	if goal == 0 {
		return ""
	}
	return fmt.Sprintf(format, goal)
}
