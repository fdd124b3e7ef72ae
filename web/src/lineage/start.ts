import url from './worker?worker&url'

interface Policies {
  createPolicy(
    name: string,
    rules: { createScriptURL: (url: string) => string },
  ): { createScriptURL: (url: string) => string }
}

// The policy of the page refuses to run what a plain text names. This makes the one address that it may run.
const policy = (globalThis as { trustedTypes?: Policies }).trustedTypes?.createPolicy('conveyor', {
  createScriptURL: () => url,
})

/** start starts the thread that draws. */
export const start = () => new Worker(policy?.createScriptURL(url) ?? url, { type: 'module', name: 'lineage' })
