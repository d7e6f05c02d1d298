package report

// bar is a row of the chart. Top and Base are the y of the bar and of its text, in pixels.
type bar struct {
	*Series
	Top, Base int
	Width     float64
}

// chart is the data of ratio.svg.tmpl: a bar for each row's ratio to its baseline. One is the
// x-coordinate of a ratio of 1. The template sets the colors for light and dark pages; the chart
// libraries that we tried support only one of the two.
type chart struct {
	Bars   []bar
	Height int
	One    float64
}

func ratioChart(rows []*Series) (c chart) {
	longest := 1.0
	for _, s := range rows {
		if s.Baseline != nil && s.Rate == 0 {
			longest = max(longest, s.Ratio().Median)
			top := 64 + 24*len(c.Bars)
			c.Bars = append(c.Bars, bar{Series: s, Top: top, Base: top + 11})
		}
	}
	const left, length = 190, 510
	for i := range c.Bars {
		c.Bars[i].Width = length / longest * c.Bars[i].Ratio().Median
	}
	c.Height, c.One = 72+24*len(c.Bars), left+length/longest
	return c
}
