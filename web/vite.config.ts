// Builds the dashboard into dist/web, which the gateway serves.
import { defineConfig } from 'vite'

export default defineConfig({
  build: { outDir: '../dist/web', emptyOutDir: true, assetsInlineLimit: 0 },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
})
