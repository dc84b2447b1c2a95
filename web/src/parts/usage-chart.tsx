// Cost and context of a session over time. Loaded only with the view of a session, because the library is large.
import { useEffect, useRef } from 'preact/hooks'
import UPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import type { Anatomy } from '../data.ts'
import { tokens, usd } from '../format.ts'

const heightPx = 150

export default function UsageChart({ calls }: { calls: Anatomy['calls'] }) {
  const box = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = box.current
    if (!element) return undefined
    const plot = new UPlot(optionsFor(element), dataOf(calls), element)
    const observer = new ResizeObserver(() => plot.setSize({ width: element.clientWidth, height: heightPx }))
    observer.observe(element)
    return () => {
      observer.disconnect()
      plot.destroy()
    }
  }, [calls])
  const last = calls.at(-1)
  const words = `${calls.length} calls, ${usd(last?.costUsd)} in all, context now ${tokens(last?.contextTokens)} tokens`
  return <div class="chart" ref={box} role="img" aria-label={`Cost and context over time: ${words}`} />
}

function dataOf(calls: Anatomy['calls']): UPlot.AlignedData {
  return [
    calls.map((call) => call.at / 1000),
    calls.map((call) => call.costUsd),
    calls.map((call) => call.contextTokens),
  ]
}

function optionsFor(element: HTMLElement): UPlot.Options {
  const style = getComputedStyle(element)
  const colour = (name: string): string => style.getPropertyValue(name)
  const axis = { stroke: style.color, grid: { show: false }, ticks: { show: false } }
  return {
    width: element.clientWidth,
    height: heightPx,
    legend: { show: false },
    cursor: { show: false },
    scales: { x: { time: true }, tokens: {} },
    series: [
      {},
      { label: 'Cost', stroke: colour('--chart-cost'), width: 2 },
      { label: 'Context', stroke: colour('--chart-context'), width: 1.5, scale: 'tokens', dash: [4, 3] },
    ],
    axes: [
      axis,
      { ...axis, size: 46, values: (_plot, values) => values.map((value) => usd(value)) },
      {
        ...axis,
        // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- the enum exists only in uPlot's types
        side: 1,
        size: 40,
        scale: 'tokens',
        values: (_plot, values) => values.map((value) => tokens(value)),
      },
    ],
  }
}
