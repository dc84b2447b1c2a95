// A QR code as SVG: black on white in every colour scheme, otherwise phones do not read it.
import { create } from 'qrcode/lib/core/qrcode.js'

export default function QrCode({ text, label }: { text: string; label: string }) {
  const { size, data } = create(text, { errorCorrectionLevel: 'L' }).modules
  const dark = Array.from(data, (bit, i) => (bit ? `M${i % size} ${Math.floor(i / size)}h1v1h-1z` : ''))
  return (
    <svg class="qr" role="img" aria-label={label} viewBox={`-4 -4 ${size + 8} ${size + 8}`}>
      <rect x="-4" y="-4" width={size + 8} height={size + 8} fill="#fff" />
      <path d={dark.join('')} fill="#000" shape-rendering="crispEdges" />
    </svg>
  )
}
