export { Trunkline, type TrunklineOptions } from './trunkline.ts';
