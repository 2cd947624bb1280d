/**
 * The window laid out as areas on a page: kinds, in them sources, in them items, each as large as it has tokens.
 *
 * The layout is the squarified one, which keeps areas near to squares. What would be too small to be seen or hit, and what is more than
 * can be looked at, is gathered: one area of a source, or of a kind, stands for all of it. So nothing that has tokens is left out.
 */

import type { Kind } from "./format";
import type { Branch, Item, Source, Switch } from "./treemap";

export interface Area {
  x: number;
  y: number;
  width: number;
  height: number;
}

/** Divides an area by weights, in their order, into areas near to squares. What weighs nothing gets an area without size. */
export function squarify(weights: readonly number[], area: Area): Area[] {
  const all = weights.reduce((one, other) => one + other, 0);
  if (all <= 0 || area.width <= 0 || area.height <= 0) {
    return weights.map(() => ({ x: area.x, y: area.y, width: 0, height: 0 }));
  }
  const scale = (area.width * area.height) / all;
  const sizes = weights.map((weight) => weight * scale);
  const areas: Area[] = [];
  let left = { ...area };
  for (let start = 0; start < sizes.length; ) {
    const side = Math.min(left.width, left.height);
    let end = start + 1;
    while (end < sizes.length && worst(sizes.slice(start, end + 1), side) <= worst(sizes.slice(start, end), side)) {
      end += 1;
    }
    const row = sizes.slice(start, end);
    const depth = side === 0 ? 0 : row.reduce((one, other) => one + other, 0) / side;
    let passed = 0;
    for (const size of row) {
      const length = depth === 0 ? 0 : size / depth;
      areas.push(
        left.width >= left.height
          ? { x: left.x, y: left.y + passed, width: depth, height: length }
          : { x: left.x + passed, y: left.y, width: length, height: depth },
      );
      passed += length;
    }
    left =
      left.width >= left.height
        ? { x: left.x + depth, y: left.y, width: Math.max(0, left.width - depth), height: left.height }
        : { x: left.x, y: left.y + depth, width: left.width, height: Math.max(0, left.height - depth) };
    start = end;
  }
  return areas;
}

/** How far the least square of a row is from a square. */
function worst(row: readonly number[], side: number): number {
  const sum = row.reduce((one, other) => one + other, 0);
  const [most, least] = row.reduce(([high, low], size) => [Math.max(high, size), Math.min(low, size)], [0, Number.POSITIVE_INFINITY]);
  return Math.max((side * side * most) / (sum * sum), (sum * sum) / (side * side * Math.max(least, 1e-9)));
}

/** An area on the page. Areas of kinds and sources leave room for their names. */
export interface Tile {
  key: string;
  level: "kind" | "source" | "item";
  kind: Kind;
  name: string;
  tokens: number;
  area: Area;
  /** The segment behind it, for an item. */
  index?: number;
  switch?: Switch;
  isOff?: true;
  /** What this area stands for where it is not one thing, the largest first. */
  gathered?: readonly Item[];
  /** Nothing of its source is drawn beside it. */
  isWhole?: true;
}

const HEAD = 20;
const SEAM = 2;
/** Narrower ones cannot be seen or hit. */
const LEAST = 4;
/** Square pixels that a thing needs to have an area of its own, and a source. */
const OWN = 64;
const OWN_SOURCE = 200;
/** How wide the strip is at least that what is gathered gets, or small kinds. */
const STRIP = 12;
/** So many things are drawn, more or less: each is an element of the page and a step of the keyboard. */
const MOST = 320;
/** Of one kind. */
const MOST_SOURCES = 16;

/** The whole window as tiles, those around others first. */
export function tiles(branches: readonly Branch[], width: number, height: number): Tile[] {
  const found: Tile[] = [];
  const all = sumOf(branches);
  const kinds = kindsIn(branches, { x: 0, y: 0, width, height });
  branches.forEach((branch, place) => {
    const area = kinds[place] as Area;
    if (!isTooSmall(area)) {
      found.push({ key: branch.kind, level: "kind", kind: branch.kind, name: "", tokens: branch.tokens, area });
      found.push(...sourcesIn(branch, within(area), Math.ceil((MOST * branch.tokens) / Math.max(1, all))));
    }
  });
  return found;
}

/** Every kind that has tokens can be seen: small ones share a strip. */
function kindsIn(branches: readonly Branch[], window: Area): Area[] {
  const all = sumOf(branches);
  const least = tokensOf(strip(window), window, all);
  const small = branches.filter(({ tokens }) => tokens > 0 && tokens < least);
  const share = least / Math.max(1, small.length);
  return squarify(branches.map(({ tokens }) => (tokens === 0 ? 0 : Math.max(tokens, share))), window).map(whole);
}

function sourcesIn(branch: Branch, around: Area, most: number): Tile[] {
  const { kind, sources } = branch;
  const { own, rest, areas } = layOut(sources, around, MOST_SOURCES, OWN_SOURCE);
  const found = own.flatMap((source, index): Tile[] => {
    const { key, name, tokens } = source;
    const area = areas[index] as Area;
    const inside = sources.length > 1 ? within(area) : area;
    const head: Tile = { key, level: "source", kind, name, tokens, area, ...(source.switch && { switch: source.switch }) };
    return [head, ...itemsIn(source, kind, inside, Math.ceil((most * tokens) / Math.max(1, branch.tokens)))];
  });
  return [...found, ...together(`${kind}/…`, kind, rest.flatMap((source) => source.items), areas[own.length])];
}

function itemsIn(source: Source, kind: Kind, around: Area, most: number): Tile[] {
  const { own, rest, areas } = layOut(source.items, around, most, OWN);
  const found = own.flatMap((item, index) => single(item, kind, areas[index] as Area));
  const gathered = together(`${source.key}/…`, kind, rest, areas[own.length]);
  return [...found, ...(own.length === 0 ? gathered.map((tile) => ({ ...tile, isWhole: true as const })) : gathered)];
}

function single(item: Item, kind: Kind, area: Area): Tile[] {
  const { key, name, tokens, index } = item;
  return isTooSmall(area) ? [] : [{ key, level: "item", kind, name, tokens, area, index, ...(item.switch && { switch: item.switch }), ...(item.isOff && { isOff: true }) }];
}

function together(key: string, kind: Kind, items: readonly Item[], area: Area | undefined): Tile[] {
  const [only] = items;
  if (only === undefined || area === undefined) {
    return [];
  }
  if (items.length === 1) {
    return single(only, kind, area);
  }
  const gathered = [...items].sort((one, other) => other.tokens - one.tokens);
  return isTooSmall(area) ? [] : [{ key, level: "item", kind, name: "", tokens: sumOf(items), area, gathered }];
}

interface Laid<T> {
  /** Those that have an area of their own, the largest of at most so many. */
  own: T[];
  rest: T[];
  /** The areas of those, and behind them that of the rest if there are any. */
  areas: Area[];
}

function layOut<T extends { tokens: number }>(parts: readonly T[], around: Area, most: number, needed: number): Laid<T> {
  const all = sumOf(parts);
  const least = tokensOf(needed, around, all);
  let small = parts.findIndex((part, index) => index >= most || part.tokens < least);
  for (let own = [...parts]; ; ) {
    const rest = parts.slice(small === -1 ? own.length : small);
    own = own.slice(0, parts.length - rest.length);
    const left = sumOf(rest);
    const weights = own.map(({ tokens }) => tokens);
    const areas = squarify(rest.length === 0 ? weights : [...weights, left === 0 ? 0 : Math.max(left, tokensOf(strip(around), around, all))], around).map(whole);
    small = own.findIndex((_, index) => isTooSmall(areas[index] as Area));
    if (small === -1) {
      return { own, rest, areas };
    }
  }
}

/** The size of a strip along the shorter side. */
function strip({ width, height }: Area): number {
  return STRIP * Math.min(width, height);
}

/** How many tokens so many square pixels of an area stand for; never more than half of them. */
function tokensOf(pixels: number, { width, height }: Area, tokens: number): number {
  return Math.min(tokens / 2, (tokens * pixels) / Math.max(1, width * height));
}

function sumOf(parts: readonly { tokens: number }[]): number {
  return parts.reduce((all, part) => all + part.tokens, 0);
}

/** What is left of an area for what is in it. */
function within(area: Area): Area {
  const head = area.height > HEAD * 2 && area.width > HEAD * 2 ? HEAD : SEAM;
  const inside = { x: area.x + SEAM, y: area.y + head, width: area.width - SEAM * 2, height: area.height - head - SEAM };
  return isTooSmall(inside) ? area : inside;
}

/** Edges on whole pixels: neighbours share them, and nothing is blurred. */
function whole(area: Area): Area {
  const [x, y] = [Math.round(area.x), Math.round(area.y)];
  return { x, y, width: Math.round(area.x + area.width) - x, height: Math.round(area.y + area.height) - y };
}

function isTooSmall(area: Area): boolean {
  return area.width < LEAST || area.height < LEAST;
}

export type Step = "left" | "right" | "up" | "down";

/** The nearest of others on one side of an area. */
export function neighbour<T extends { area: Area }>(others: readonly T[], from: Area, step: Step): T | undefined {
  const isAcross = step === "left" || step === "right";
  const isForward = step === "right" || step === "down";
  const along = ({ x, y, width, height }: Area) => (isAcross ? [x, x + width] : [y, y + height]) as [number, number];
  const beside = ({ x, y, width, height }: Area) => (isAcross ? [y, y + height] : [x, x + width]) as [number, number];
  const [start, end] = along(from);
  const [low, high] = beside(from);
  let best: { one: T; far: number } | undefined;
  for (const one of others) {
    const [first, last] = along(one.area);
    const [top, bottom] = beside(one.area);
    const gap = isForward ? first - end : start - last;
    if (gap < -1) {
      continue;
    }
    const aside = Math.max(0, top - high + 1, low - bottom + 1);
    const off = Math.abs(top + bottom - low - high) / 2;
    const far = gap + aside * 3 + off / 100;
    if (best === undefined || far < best.far) {
      best = { one, far };
    }
  }
  return best?.one;
}
