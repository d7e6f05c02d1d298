package report

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html"
	"slices"
)

// Chart is a horizontal bar chart for light and dark pages. It is drawn here because the chart
// libraries that we tried fix the colors for one kind of page.
type Chart struct {
	Title  string
	Note   string  // what the marks mean
	Format string  // of the figures
	Least  float64 // shortest length of the axis
	Bars   []Bar
	names  []string // of all parts in order of appearance
}

// Bar is one row.
type Bar struct {
	Name  string
	Parts []Part
	Mark  float64 // the goal, 0 for none
}

// Part is a piece of a bar. Parts of the same name have the same colour.
type Part struct {
	Name  string
	Value float64
}

// Sizes in pixels.
const (
	chartWidth, nameWidth, figureWidth = 760, 190, 60
	rowHeight, barHeight, headHeight   = 24, 14, 64
)

//go:embed chart.svg
var chartHead string

// SVG draws the chart.
func (c Chart) SVG() []byte {
	height := headHeight + rowHeight*len(c.Bars) + 8
	var b bytes.Buffer
	fmt.Fprintf(
		&b,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" width="%[1]d" height="%[2]d" role="img">`+
			"\n",
		chartWidth,
		height,
	)
	fmt.Fprintf(&b, "<title>%s</title>\n%s", html.EscapeString(c.Title), chartHead)
	text := func(class string, x float64, y int, s string) {
		fmt.Fprintf(&b, `<text%s x="%.1f" y="%d">%s</text>`+"\n", class, x, y, html.EscapeString(s))
	}
	box := func(name string, x float64, y int, width float64, height int) {
		if !slices.Contains(c.names, name) {
			c.names = append(c.names, name)
		}
		fmt.Fprintf(
			&b,
			`<rect class="p%d" x="%.1f" y="%d" width="%.1f" height="%d"/>`+"\n",
			slices.Index(c.names, name),
			x,
			y,
			width,
			height,
		)
	}
	text(` class="title"`, 8, 22, c.Title)
	text(` class="note"`, 8, 48, c.Note)
	scale := (chartWidth - nameWidth - figureWidth) / c.longest()
	for i, bar := range c.Bars {
		y, x := headHeight+rowHeight*i, float64(nameWidth)
		for _, p := range bar.Parts {
			box(p.Name, x, y, p.Value*scale, barHeight)
			x += p.Value * scale
		}
		if mark := nameWidth + bar.Mark*scale; bar.Mark > 0 {
			fmt.Fprintf(&b, `<path class="mark" d="M%.1f %dm0 -3v%dm0 0v6"/>`+"\n", mark, y, barHeight)
			x = max(x, mark)
		}
		text(` class="name"`, nameWidth-8, y+barHeight-3, bar.Name)
		text("", x+6, y+barHeight-3, fmt.Sprintf(c.Format, bar.sum()))
	}
	for i, name := range c.names {
		if x := float64(nameWidth + 60 + 110*i); name != "" {
			box(name, x, 38, 11, 11)
			text("", x+16, 48, name)
		}
	}
	fmt.Fprintf(&b, `<path class="axis" d="M%d 58V%d"/>`+"\n</svg>\n", nameWidth, height)
	return b.Bytes()
}

func (b Bar) sum() (sum float64) {
	for _, p := range b.Parts {
		sum += p.Value
	}
	return sum
}

func (c Chart) longest() float64 {
	longest := c.Least
	for _, b := range c.Bars {
		longest = max(longest, b.sum(), b.Mark)
	}
	return cmp.Or(longest, 1)
}
