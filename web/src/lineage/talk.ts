// What the page and its worker say to each other. Places of the drawing are its own units; a View says where they are on
// the canvas, in CSS pixels: x·k + view.x.

export interface View {
  k: number
  x: number
  y: number
}

/** Colours are 0xAABBGGRR. */
export interface Colours {
  paper: number
  ink: number
  rule: number
  wait: number
  busy: number
  done: number
  moved: number
  failed: number
  skipped: number
}

export interface Box {
  left: number
  top: number
  right: number
  bottom: number
}

/** A Point is a URL of the drawing. */
export interface Point {
  id: number
  x: number
  y: number
  state: number // index of states
  text: string // the end of its path, cut
}

/** A Label belongs above a disc. */
export interface Label {
  x: number
  y: number
  r: number // of its disc
  text: string
}

export type Order =
  | {
      do: 'start'
      canvas: OffscreenCanvas
      run: number
      width: number
      height: number
      scale: number
      colours: Colours
    }
  | { do: 'read' } // the run has changed
  | { do: 'size'; width: number; height: number; scale: number }
  | { do: 'colours'; colours: Colours }
  | { do: 'view'; view: View }
  | { do: 'filter'; states: number[]; words: string } // no state and no words: all are lit
  | { do: 'choose'; id: number; links: number[] } // 0 = none; links are URLs that it is linked with
  | { do: 'point'; x: number; y: number; within: number } // what is there?
  | { do: 'pick'; x: number; y: number; within: number }
  | { do: 'step'; right: number; down: number }
  | { do: 'into' }
  | { do: 'out' }

export type News =
  | { is: 'there'; urls: number; cut: boolean; box: Box; layoutMS: number }
  | { is: 'frame'; view: View; crisp: boolean; ms: number; labels?: Label[] }
  | { is: 'chosen'; way: Point[]; links: Point[] } // the way from the seed; empty = it is not in the drawing
  | { is: 'picked'; id: number } // by a key or the pointer; 0 = nothing is there
  | { is: 'under'; point?: Point } // the pointer
  | { is: 'lit'; urls: number } // by the filter
  | { is: 'trouble'; status: number; title: string; detail: string }
