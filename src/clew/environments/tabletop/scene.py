"""The MJCF of the tabletop: a Cartesian gripper, blocks, zones, a drawer. Text only, no physics.

Metres, kilograms, seconds; x to the right, y away from the front camera, z up; the table top is
z = 0. The first five coordinates of `qpos` are always the tool centre (x, y, z in the world) and
the two finger positions (half the gap each), so what a policy sees needs no kinematics.

Collision bits: 1 table and blocks, 2 robot, 4 drawer and cabinet. Blocks meet everything; the
robot meets blocks and furniture, not the table (its workspace ends above it); the drawer runs in
its cabinet without touching.
"""

from __future__ import annotations

BLOCK_M = 0.04
FINGER_TRAVEL_M = 0.04
HOME_M = (0.0, -0.08, 0.16)
WORKSPACE_M = ((-0.26, 0.26), (-0.2, 0.22), (0.014, 0.26))

DRAWER_X_M = 0.14
DRAWER_CLOSED_Y_M = 0.17
DRAWER_TRAVEL_M = 0.15
DRAWER_FLOOR_M = 0.006
DRAWER_INSIDE_M = (0.07, 0.064)

#: In the order of the MJCF.
CAMERAS = ("front", "top")

COLOURS = {
    "red": "0.85 0.25 0.22 1",
    "blue": "0.20 0.45 0.78 1",
    "green": "0.30 0.65 0.42 1",
}
ZONE_COLOURS = {
    "red": "0.95 0.62 0.56 1",
    "blue": "0.58 0.74 0.92 1",
    "green": "0.60 0.82 0.62 1",
}
ZONE_RADIUS_M = 0.05

_HEAD = """\
<mujoco model="tabletop">
  <compiler angle="radian" autolimits="true"/>
  <option timestep="0.002" integrator="implicitfast" cone="elliptic" impratio="10"/>
  <visual>
    <headlight ambient="0.42 0.42 0.42" diffuse="0.38 0.38 0.38" specular="0.05 0.05 0.05"/>
    <map znear="0.02" zfar="20"/>
    <quality offsamples="0"/>
  </visual>
  <asset>
    <texture name="sky" type="skybox" builtin="gradient" width="64" height="384"
             rgb1="0.93 0.95 0.97" rgb2="0.66 0.72 0.78"/>
    <texture name="boards" type="2d" builtin="checker" width="64" height="64"
             rgb1="0.87 0.80 0.70" rgb2="0.85 0.775 0.67"/>
    <material name="table" texture="boards" texrepeat="7 6" specular="0.1" shininess="0.1"/>
    <material name="shell" rgba="0.93 0.94 0.95 1" specular="0.4" shininess="0.5"/>
    <material name="steel" rgba="0.62 0.66 0.71 1" specular="0.6" shininess="0.6"/>
    <material name="rubber" rgba="0.20 0.22 0.25 1" specular="0.1" shininess="0.1"/>
    <material name="wood" rgba="0.62 0.45 0.31 1" specular="0.1" shininess="0.1"/>
    <material name="wood_light" rgba="0.78 0.62 0.45 1" specular="0.1" shininess="0.1"/>
  </asset>
  <default>
    <default class="robot">
      <geom contype="2" conaffinity="0"/>
    </default>
    <default class="pad">
      <geom type="box" size="0.005 0.012 0.022" contype="2" conaffinity="0" condim="4"
            friction="1.5 0.02 0.0001" solref="0.005 1" solimp="0.95 0.99 0.001"
            material="rubber"/>
    </default>
    <default class="block">
      <geom type="box" size="0.02 0.02 0.02" mass="0.06" contype="1" conaffinity="7" condim="4"
            friction="0.8 0.01 0.0001" solref="0.005 1" solimp="0.95 0.99 0.001"/>
    </default>
    <default class="furniture">
      <geom type="box" contype="4" conaffinity="2" friction="0.6 0.01 0.0001"/>
    </default>
  </default>
  <worldbody>
    <light pos="-0.5 -0.7 1.4" dir="0.35 0.45 -1" diffuse="0.45 0.45 0.43" specular="0.1 0.1 0.1"
           directional="true"/>
    <camera name="front" pos="0 -0.72 0.50" xyaxes="1 0 0 0 0.52 0.854" fovy="37"/>
    <camera name="top" pos="0 0.02 0.95" xyaxes="1 0 0 0 1 0" fovy="38"/>
    <body name="table">
      <geom type="box" pos="0 0.02 -0.02" size="0.42 0.34 0.02" material="table" contype="1"
            conaffinity="1" friction="0.8 0.01 0.0001"/>
      <geom type="box" pos="0 0.02 -0.045" size="0.40 0.32 0.006" rgba="0.50 0.40 0.31 1"
            contype="0" conaffinity="0"/>
    </body>
    <body name="hand" gravcomp="1">
      <joint name="x" type="slide" axis="1 0 0"/>
      <joint name="y" type="slide" axis="0 1 0"/>
      <joint name="z" type="slide" axis="0 0 1"/>
      <geom class="robot" type="box" pos="0 0 0.066" size="0.056 0.022 0.012" mass="0.7"
            material="shell"/>
      <geom type="cylinder" pos="0 0 0.088" size="0.024 0.01" mass="0.2" material="steel"
            contype="0" conaffinity="0"/>
      <geom type="cylinder" pos="0 0 0.36" size="0.015 0.265" mass="0.1" material="shell"
            contype="0" conaffinity="0"/>
      <body name="finger_left" gravcomp="1">
        <joint name="left" type="slide" armature="0.1" axis="-1 0 0" range="0 0.04"/>
        <geom class="pad" pos="-0.005 0 0.01" mass="0.03"/>
        <geom type="box" pos="-0.007 0 0.044" size="0.004 0.009 0.013" mass="0.02"
              material="steel" contype="0" conaffinity="0"/>
      </body>
      <body name="finger_right" gravcomp="1">
        <joint name="right" type="slide" armature="0.1" axis="1 0 0" range="0 0.04"/>
        <geom class="pad" pos="0.005 0 0.01" mass="0.03"/>
        <geom type="box" pos="0.007 0 0.044" size="0.004 0.009 0.013" mass="0.02"
              material="steel" contype="0" conaffinity="0"/>
      </body>
    </body>
"""

_TAIL = """\
  </worldbody>
  <actuator>
    <position joint="x" kp="8000" dampratio="1" forcerange="-60 60"/>
    <position joint="y" kp="8000" dampratio="1" forcerange="-60 60"/>
    <position joint="z" kp="8000" dampratio="1" forcerange="-60 60"/>
    <position joint="left" kp="200" dampratio="1" forcerange="-6 6"/>
    <position joint="right" kp="200" dampratio="1" forcerange="-6 6"/>
  </actuator>
</mujoco>
"""

_DRAWER = """\
    <body name="cabinet" pos="0.14 0.17 0">
      <geom class="furniture" pos="-0.087 0.005 0.036" size="0.004 0.075 0.036" material="wood"/>
      <geom class="furniture" pos="0.087 0.005 0.036" size="0.004 0.075 0.036" material="wood"/>
      <geom class="furniture" pos="0 0.077 0.036" size="0.083 0.003 0.036" material="wood"/>
      <geom class="furniture" pos="0 0.005 0.075" size="0.091 0.075 0.003" material="wood"/>
    </body>
    <body name="drawer" pos="0.14 0.17 0">
      <joint name="drawer" type="slide" axis="0 -1 0" range="0 0.15" damping="3"
             frictionloss="0.6"/>
      <geom class="furniture" pos="0 0 0.0035" size="0.075 0.07 0.0025" mass="0.1"
            material="wood_light"/>
      <geom class="furniture" pos="-0.0725 0 0.025" size="0.0025 0.07 0.019" mass="0.05"
            material="wood_light"/>
      <geom class="furniture" pos="0.0725 0 0.025" size="0.0025 0.07 0.019" mass="0.05"
            material="wood_light"/>
      <geom class="furniture" pos="0 0.0675 0.025" size="0.07 0.0025 0.019" mass="0.05"
            material="wood_light"/>
      <geom class="furniture" pos="0 -0.0675 0.032" size="0.082 0.0035 0.03" mass="0.1"
            material="wood_light"/>
      <geom class="furniture" pos="-0.035 -0.09 0.035" size="0.004 0.02 0.004" mass="0.01"
            material="steel"/>
      <geom class="furniture" pos="0.035 -0.09 0.035" size="0.004 0.02 0.004" mass="0.01"
            material="steel"/>
      <geom class="furniture" pos="0 -0.111 0.035" size="0.039 0.004 0.006" mass="0.02"
            material="steel"/>
    </body>
"""


def mjcf(blocks: tuple[str, ...], zones: tuple[str, ...], drawer: bool) -> str:
    """The MJCF of one task: which coloured blocks and zones are on the table, and the drawer.

    A zone is a mocap body, so that where it lies is part of the simulator's own state.
    """
    parts = [_HEAD]
    if drawer:
        parts.append(_DRAWER)
    parts += [
        f'    <body name="{colour}_zone" mocap="true">\n'
        f'      <geom type="cylinder" size="{ZONE_RADIUS_M} 0.0006" rgba="{ZONE_COLOURS[colour]}"'
        f' contype="0" conaffinity="0"/>\n    </body>\n'
        for colour in zones
    ]
    parts += [
        f'    <body name="{colour}_block">\n      <freejoint name="{colour}_block"/>\n'
        f'      <geom class="block" rgba="{COLOURS[colour]}"/>\n    </body>\n'
        for colour in blocks
    ]
    return "".join([*parts, _TAIL])
