// Builds the dashboard into dist/web, which the gateway serves.
import { defineConfig } from 'vite'

const worker = 'shell-worker'

export default defineConfig({
  build: {
    outDir: '../dist/web',
    emptyOutDir: true,
    assetsInlineLimit: 0,
    rolldownOptions: {
      input: { index: 'index.html', [worker]: `src/${worker}.ts` },
      output: {
        // The worker of the page has a fixed address, at the root: it may look after nothing above its own folder.
        entryFileNames: ({ name }) => (name === worker ? '[name].js' : 'assets/[name]-[hash].js'),
      },
    },
  },
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
})
