import type { Ink } from './overlay'
import { rgb } from './raster'
import type { Colours } from './talk'

/** coloursOf reads the tokens of the theme that is shown. probe is an element of the page that is not seen. */
export function coloursOf(probe: HTMLElement): { colours: Colours; ink: Ink } {
  const read = (name: string) => {
    probe.style.color = `var(--${name})`
    return getComputedStyle(probe).color
  }
  const number = (name: string) => {
    const [r = 0, g = 0, b = 0] =
      read(name)
        .match(/[\d.]+/g)
        ?.map(Number) ?? []
    return rgb(r, g, b)
  }
  return {
    colours: {
      paper: number('paper'),
      ink: number('ink'),
      rule: number('rule2'),
      wait: number('ink3'),
      busy: number('ochrg'),
      done: number('verdg'),
      moved: number('blue'),
      failed: number('vermg'),
      skipped: number('rule2'),
    },
    ink: {
      ink: read('ink'),
      paper: read('paper'),
      failed: read('vermg'),
      blue: read('blue'),
      mono: getComputedStyle(probe).getPropertyValue('--mono'),
    },
  }
}
