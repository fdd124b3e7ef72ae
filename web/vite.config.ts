import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

const api = 'http://127.0.0.1:8080'

// Paths of the API that the development server passes on. Everything else is a page.
const calls =
  '^/(adverts|audit|campaigns|contact-lists|contacts|crawl-requests|crawl-runs|dead-letters|drafts|duplicates|events|find|flow|health|images|keys|licences|listings|messages|neighbourhoods|opt-outs|pages|platforms|queues|ready|replays|search|searches|segments|senders|session|sessions|staleness|stats|tenants|uploads)(/|\\?|$)'

export default defineConfig({
  base: '/ui/',
  plugins: [react()],
  worker: { format: 'es' },
  build: {
    target: 'es2023',
    assetsInlineLimit: 0, // the policy of the page allows no data: address
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rollupOptions: {
      output: {
        // Libraries change seldom: in files of their own, a change of ours costs git and browsers ours only.
        manualChunks(id: string) {
          if (!id.includes('/node_modules/')) return
          if (/\/(react|react-dom|scheduler)\//.test(id)) return 'react'
          if (/\/@tanstack\/(react-router|router-core|history|store|react-store)\//.test(id)) return 'router'
          if (/\/(@tanstack\/(react-query|query-core)|openapi-fetch)\//.test(id)) return 'query'
          if (/\/ol\//.test(id)) return 'map'
          if (/\/@tanstack\/(react-virtual|virtual-core)\//.test(id)) return 'table'
        },
      },
    },
  },
  server: { proxy: { [calls]: { target: api, changeOrigin: true } } },
})
