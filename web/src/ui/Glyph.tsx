export type State = 'done' | 'changed' | 'idle' | 'look' | 'failed' | 'twin'

/** Glyph shows a state by its shape and by its colour. The words beside it say the same, so it is hidden from readers. */
export function Glyph({ state }: { state: State }) {
  return (
    <svg className="g" viewBox="0 0 11 11" aria-hidden="true" data-state={state}>
      {shapes[state]}
    </svg>
  )
}

const shapes: Record<State, React.ReactNode> = {
  done: <circle cx="5.5" cy="5.5" r="3.6" fill="var(--verdg)" />,
  changed: (
    <>
      <circle cx="5.5" cy="5.5" r="3.4" fill="none" stroke="var(--verdg)" strokeWidth="1.4" />
      <path d="M5.5 2.1a3.4 3.4 0 0 1 0 6.8z" fill="var(--verdg)" />
    </>
  ),
  idle: <circle cx="5.5" cy="5.5" r="3.1" fill="none" stroke="var(--ink3)" strokeWidth="1.3" />,
  look: <path d="M5.5 1.2 10 9.4H1z" fill="var(--ochrg)" />,
  failed: <rect x="2" y="2" width="7" height="7" fill="var(--vermg)" />,
  twin: (
    <>
      <circle cx="4" cy="5.5" r="2.6" fill="none" stroke="var(--ink3)" strokeWidth="1.2" />
      <circle cx="7" cy="5.5" r="2.6" fill="none" stroke="var(--ink3)" strokeWidth="1.2" />
    </>
  ),
}
